#pragma once

#include "kube/api.hpp"

#include <filesystem>
#include <memory>
#include <string>

namespace tangram::e2e {

/// What scripts/e2e reports about the cluster that it started, read from TANGRAM_E2E_*.
/// A missing variable ends the program: these tests need a cluster.
struct Environment {
  std::filesystem::path state;      ///< where logs and files of the run go
  std::string admin_kubeconfig;     ///< may do anything
  std::string extender_kubeconfig;  ///< with the rights of deploy/scheduler/rbac.yaml
  std::string scheduler_kubeconfig;
  std::string scheduler;      ///< path of the program, as the next four
  std::string old_scheduler;  ///< kube-scheduler 1.28; "" = not built
  std::string extender;
  std::string fault_api;  ///< "" = not built
  std::string kubectl;
  std::string control;  ///< scripts/e2e, which can stop and start the API server
  bool smoke = false;   ///< small sizes, few repetitions
};
[[nodiscard]] const Environment& environment();

/// `whole` in the long form of the tests, `smoke` in the smoke form.
template <class T>
[[nodiscard]] T sized(T whole, T smoke) {
  return environment().smoke ? smoke : whole;
}

/// The process id of the running kube-apiserver; 0 if none runs.
[[nodiscard]] int apiserver_pid();

/// A new client. An invalid file throws std::runtime_error.
[[nodiscard]] std::unique_ptr<kube::KubeApi> open_api(const std::string& kubeconfig);
/// With the rights of an administrator.
[[nodiscard]] std::unique_ptr<kube::KubeApi> admin_api();

}  // namespace tangram::e2e
