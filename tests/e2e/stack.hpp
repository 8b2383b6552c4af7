#pragma once

#include "tests/e2e/process.hpp"

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace tangram::e2e {

/// The sum of a metric's series whose labels contain `labels`, in the text that /metrics shows; 0
/// if there are none. Two series belong together only in one text.
[[nodiscard]] double metric_in(const std::string& metrics, const std::string& name,
                               const std::string& labels = "");

/// A tangram-extender that a test starts, kills and starts again on the same port.
/// A failed start throws std::runtime_error with the end of its log.
class ExtenderProcess {
 public:
  struct Options {
    std::string name = "extender";           ///< of its log
    std::string kubeconfig = {};             ///< "" = the rights of deploy/scheduler/rbac.yaml
    std::vector<std::string> settings = {};  ///< "section.key=value"
    std::string pod = {};  ///< its pod among several replicas; "" = the only one, without election
    /// Made by webhook_certificates(). With them: TLS, verbs only for the scheduler's certificate,
    /// and its own port for metrics and health. "" = none.
    std::filesystem::path certificates = {};
    std::filesystem::path program = {};  ///< "" = this version's
  };
  explicit ExtenderProcess(Options options);

  void start();
  /// Blocks until /readyz reports ready. @returns how long that took; throws after a minute
  std::chrono::milliseconds wait_ready();
  void start_ready() {
    start();
    wait_ready();
  }
  /// SIGTERM; then another version of the program on the same port, when it is ready.
  void replace_by(const std::filesystem::path& program);
  Process& process() { return *process_; }
  void kill() { process_->kill(); }

  [[nodiscard]] int port() const { return port_; }
  [[nodiscard]] std::filesystem::path log() const;
  [[nodiscard]] std::string url() const;
  /// The body of the response to a GET, of any status; "" if there is no response.
  [[nodiscard]] std::string get(const std::string& target) const;
  [[nodiscard]] bool ready() const;
  /// As metric_in, of what /metrics shows now.
  [[nodiscard]] double metric(const std::string& name, const std::string& labels = "") const {
    return metric_in(get("/metrics"), name, labels);
  }

 private:
  Options options_;
  int port_;
  int metrics_port_;  ///< = port_ without TLS
  std::optional<Process> process_;
};

/// A kube-scheduler with the configuration that deploy/scheduler ships.
struct SchedulerOptions {
  std::string name = "kube-scheduler";
  std::string program = {};       ///< "" = the current version
  std::string extender_url = {};  ///< "" = without an extender
  std::string second_url =
      {};          ///< of an extender that filters what the first one returns; "" = none
  int weight = 0;  ///< of the extender's scores; 0 = as shipped
  std::string config = "scheduler-config.yaml";
  /// Limit of kube-scheduler's own requests per second; 0 = its default of 50. With an extender
  /// that binds, kube-scheduler sends few requests.
  int client_qps = 0;
  std::vector<std::string> feature_gates = {};  ///< "GenericWorkload=true"
  int percentage_of_nodes = 100;                ///< of the profile "tangram"; 0 = its default
  int parallelism = 0;                          ///< 0 = its default of 16
  std::vector<std::string> without = {};        ///< plugins that the profile "tangram" lacks
  std::filesystem::path certificates = {};      ///< those of the extender
  bool own_certificate = true;                  ///< false = presents no certificate, with TLS
};
[[nodiscard]] Process start_scheduler(const SchedulerOptions& options);

}  // namespace tangram::e2e
