#include "config/settings.hpp"

#include <chrono>

namespace tangram::config {
namespace {

std::string milliseconds(std::chrono::milliseconds time) {
  return std::to_string(time.count()).append(" ms");
}

std::optional<std::string> bind_outlives_booking(const Config& config) {
  if (config.bind.timeout < config.scheduler.assume_ttl) return std::nullopt;
  return "is not below scheduler.assume_ttl_ms, " + milliseconds(config.scheduler.assume_ttl) +
         ": bookings would expire under binds in flight; write less, or raise "
         "scheduler.assume_ttl_ms";
}

std::optional<std::string> bind_outlives_request(const Config& config) {
  if (config.bind.timeout < config.server.request_timeout) return std::nullopt;
  return "is not below server.request_timeout_s, " + milliseconds(config.server.request_timeout) +
         ": binds would be cut off before their answer; write less, or raise "
         "server.request_timeout_s";
}

std::optional<std::string> bind_outlives_drain(const Config& config) {
  if (config.bind.timeout <= config.server.drain_timeout) return std::nullopt;
  return "is above server.drain_timeout_s, " + milliseconds(config.server.drain_timeout) +
         ": a restart would cut off binds in flight; write less, or raise server.drain_timeout_s";
}

std::optional<std::string> cluster_file_matches_source(const Config& config) {
  const bool local = config.kube.source == KubeSource::kLocal;
  const bool named = !config.kube.cluster_file.empty();
  if (local == named) return std::nullopt;
  return local ? "is missing, and kube.source: local needs it; write the path of a YAML file with "
                 "the cluster's nodes"
               : "is read with kube.source: local alone; write \"\", or kube.source: local";
}

std::optional<std::string> kubeconfig_matches_source(const Config& config) {
  const bool read = config.kube.source == KubeSource::kKubeconfig;
  if (read || config.kube.kubeconfig.empty()) return std::nullopt;
  return "is read with kube.source: kubeconfig alone; write \"\", or kube.source: kubeconfig";
}

std::optional<std::string> context_matches_source(const Config& config) {
  const bool read = config.kube.source == KubeSource::kKubeconfig;
  if (read || config.kube.context.empty()) return std::nullopt;
  return "is read with kube.source: kubeconfig alone; write \"\", or kube.source: kubeconfig";
}

std::optional<std::string> relearns_beyond_window(const Config& config) {
  if (config.fragmentation.relearn_every_pods <= config.fragmentation.learn_window_pods) {
    return std::nullopt;
  }
  return "is above fragmentation.learn_window_pods, " +
         std::to_string(config.fragmentation.learn_window_pods) +
         ": pods would be forgotten before they are learned from; write at most that";
}

}  // namespace

const std::vector<Relation>& relations() {
  static const std::vector<Relation> kRelations{
      {"bind.timeout_ms", "scheduler.assume_ttl_ms",
       "bind.timeout_ms is below scheduler.assume_ttl_ms: a booking outlives the bind it is for.",
       bind_outlives_booking},
      {"bind.timeout_ms", "server.request_timeout_s",
       "bind.timeout_ms is below server.request_timeout_s: a bind gets to send its answer.",
       bind_outlives_request},
      {"bind.timeout_ms", "server.drain_timeout_s",
       "bind.timeout_ms is at most server.drain_timeout_s: a restart waits for binds in flight.",
       bind_outlives_drain},
      {"kube.cluster_file", "kube.source",
       "kube.cluster_file is given if and only if kube.source is local.",
       cluster_file_matches_source},
      {"kube.kubeconfig", "kube.source",
       "kube.kubeconfig is given only if kube.source is kubeconfig.", kubeconfig_matches_source},
      {"kube.context", "kube.source", "kube.context is given only if kube.source is kubeconfig.",
       context_matches_source},
      {"fragmentation.relearn_every_pods", "fragmentation.learn_window_pods",
       "fragmentation.relearn_every_pods is at most fragmentation.learn_window_pods: every pod is "
       "learned from.",
       relearns_beyond_window}};
  return kRelations;
}

}  // namespace tangram::config
