#pragma once

#include "kube/api.hpp"

#include <filesystem>
#include <functional>
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
  std::string scheduler;       ///< path of the program, as the next six
  std::string scheduler_1_28;  ///< "" = not built
  std::string scheduler_1_37;  ///< "" = not built
  std::string karpenter;       ///< with the kwok provider; "" = not built
  std::string extender;
  std::string fault_api;  ///< "" = not built
  std::string kubectl;
  std::string control;  ///< scripts/e2e, which can stop and start the API server
  bool smoke = false;   ///< small sizes, few repetitions
};
[[nodiscard]] const Environment& environment();

/// Of the programs, kube-scheduler of the version "1.28", "current" or "1.37". @returns "" if it
/// was not built
[[nodiscard]] std::string scheduler_of(const std::string& version);

/// `whole` in the long form of the tests, `smoke` in the smoke form.
template <class T>
[[nodiscard]] T sized(T whole, T smoke) {
  return environment().smoke ? smoke : whole;
}

/// The process id of the running kube-apiserver; 0 if none runs.
[[nodiscard]] int apiserver_pid();
[[nodiscard]] int etcd_pid();
/// On loopback; it stays the same when the API server is started again.
[[nodiscard]] int apiserver_port();

/// A new client. An invalid file throws std::runtime_error.
[[nodiscard]] std::unique_ptr<kube::KubeApi> open_api(const std::string& kubeconfig);
/// Runs a verb of scripts/e2e, and calls `meanwhile` again and again until it is done.
/// Whether it succeeded shows in the cluster. Throws std::runtime_error if it cannot be run.
void control(const std::string& verb, const std::function<void()>& meanwhile);

/// With the rights of an administrator.
[[nodiscard]] std::unique_ptr<kube::KubeApi> admin_api();

}  // namespace tangram::e2e
