#pragma once

#include "kube/api.hpp"

#include <filesystem>
#include <memory>
#include <string>

namespace tangram::e2e {

/// What scripts/e2e says about the cluster it brought up, read from TANGRAM_E2E_*.
/// A missing variable ends the program: these tests make no sense without a cluster.
struct Environment {
  std::filesystem::path state;      ///< where logs and files of the run go
  std::string admin_kubeconfig;     ///< may do anything
  std::string extender_kubeconfig;  ///< may do what deploy/scheduler/rbac.yaml says
  std::string scheduler_kubeconfig;
  std::string scheduler;      ///< programs
  std::string old_scheduler;  ///< kube-scheduler 1.28; "" = was not built
  std::string extender;
  std::string fault_api;  ///< "" = was not built
  std::string kubectl;
  std::string control;  ///< scripts/e2e, which can stop and start the API server
  bool smoke = false;   ///< small sizes, few repetitions
};
[[nodiscard]] const Environment& environment();

/// The larger number in the long form of the tests, the smaller one in the smoke form.
template <class T>
[[nodiscard]] T sized(T whole, T smoke) {
  return environment().smoke ? smoke : whole;
}

/// Of the kube-apiserver that runs now; 0 if none does.
[[nodiscard]] int apiserver_pid();

/// A client of its own. What is wrong with the file throws std::runtime_error.
[[nodiscard]] std::unique_ptr<kube::KubeApi> open_api(const std::string& kubeconfig);
/// With the rights of an administrator.
[[nodiscard]] std::unique_ptr<kube::KubeApi> admin_api();

}  // namespace tangram::e2e
