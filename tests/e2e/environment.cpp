#include "tests/e2e/environment.hpp"

#include "kube/kubeconfig.hpp"
#include "kube/rest_api.hpp"

#include <cstdlib>
#include <iostream>

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

Environment read_environment() {
  Environment made;
  made.state = variable("TANGRAM_E2E_DIR");
  made.admin_kubeconfig = made.state / "admin.kubeconfig";
  made.extender_kubeconfig = made.state / "tangram-extender.kubeconfig";
  made.scheduler_kubeconfig = made.state / "kube-scheduler.kubeconfig";
  made.scheduler = variable("TANGRAM_E2E_SCHEDULER");
  made.old_scheduler = optional_variable("TANGRAM_E2E_OLD_SCHEDULER");
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

}  // namespace tangram::e2e
