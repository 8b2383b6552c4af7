#include "tests/e2e/environment.hpp"

#include "base/clock.hpp"
#include "kube/rest/rest_api.hpp"
#include "tests/e2e/process.hpp"

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <stdexcept>

namespace tangram::e2e {

namespace {

std::string optional_variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string variable(const char* name) {
  std::string value = optional_variable(name);
  if (value.empty()) {
    std::cerr << name << " is not set; run these tests by scripts/e2e test\n";
    std::exit(2);
  }
  return value;
}

/// The first word of the file; 0 if there is none.
int number_in(const std::filesystem::path& file) {
  int number = 0;
  std::ifstream(file) >> number;
  return number;
}

Environment read_environment() {
  Environment made;
  made.state = variable("TANGRAM_E2E_DIR");
  made.admin_kubeconfig = made.state / "admin.kubeconfig";
  made.extender_kubeconfig = made.state / "tangram-extender.kubeconfig";
  made.scheduler_kubeconfig = made.state / "kube-scheduler.kubeconfig";
  made.scheduler = variable("TANGRAM_E2E_SCHEDULER");
  made.scheduler_1_28 = optional_variable("TANGRAM_E2E_SCHEDULER_1_28");
  made.scheduler_1_37 = optional_variable("TANGRAM_E2E_SCHEDULER_1_37");
  made.karpenter = optional_variable("TANGRAM_E2E_KARPENTER");
  made.extender = variable("TANGRAM_E2E_EXTENDER");
  made.fault_api = optional_variable("TANGRAM_E2E_FAULT_API");
  made.kubectl = variable("TANGRAM_E2E_KUBECTL");
  made.control = variable("TANGRAM_E2E_CONTROL");
  made.smoke = !optional_variable("TANGRAM_E2E_SMOKE").empty();
  return made;
}

}  // namespace

const Environment& environment() {
  static const Environment kEnvironment = read_environment();
  return kEnvironment;
}

std::string scheduler_of(const std::string& version) {
  if (version == "1.28") return environment().scheduler_1_28;
  if (version == "1.37") return environment().scheduler_1_37;
  return environment().scheduler;
}

int apiserver_pid() { return number_in(environment().state / "run" / "kube-apiserver"); }
int etcd_pid() { return number_in(environment().state / "run" / "etcd"); }
int apiserver_port() { return number_in(environment().state / "apiserver-port"); }

std::unique_ptr<kube::KubeApi> open_api(const std::string& kubeconfig) {
  static const SystemClock kClock;
  const auto config = kube::read_kubeconfig(kubeconfig);
  if (!config) throw std::runtime_error(config.error().message);
  // The client's rate limit must not delay tests.
  constexpr int kUnlimited = 100'000;
  auto api = kube::RestApi::create(
      *config, {.user_agent = "tangram-e2e", .qps = kUnlimited, .burst = kUnlimited}, kClock);
  if (!api) throw std::runtime_error(api.error().message);
  return std::move(*api);
}

void control(const std::string& verb, const std::function<void()>& meanwhile) {
  auto run =
      Process::start({environment().control, verb}, environment().state / "logs" / (verb + ".log"));
  if (!run) throw std::runtime_error(run.error().message);
  while (run->running()) meanwhile();
}

std::unique_ptr<kube::KubeApi> admin_api() { return open_api(environment().admin_kubeconfig); }

}  // namespace tangram::e2e
