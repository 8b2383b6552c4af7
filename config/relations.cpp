#include "config/settings.hpp"

#include <chrono>

namespace tangram::config {
namespace {

using milliseconds_t = std::chrono::milliseconds;

std::string milliseconds(std::chrono::milliseconds time) {
  return std::to_string(time.count()).append(" ms");
}

std::optional<std::string> listens_in_the_open(const Config& config) {
  const bool safe = is_loopback(config.server.listen) || !config.tls.certificate.empty();
  if (safe || config.server.plaintext) return std::nullopt;
  return "is beyond loopback and has no TLS: everybody who reaches it could bind pods; write the "
         "paths of a certificate and its key into tls.certificate and tls.key, or say that you "
         "want it so with server.plaintext: true";
}

std::optional<std::string> listens_to_anyone(const Config& config) {
  const bool tls = !config.tls.certificate.empty();
  const bool asks = !config.tls.client_ca.empty() || config.server.anyone_may_bind;
  if (is_loopback(config.server.listen) || !tls || asks) return std::nullopt;
  return "is beyond loopback and asks nobody who he is: everybody who reaches it could bind pods; "
         "write the path of the authority that signs kube-scheduler's certificate into "
         "tls.client_ca, or say that you want it so with server.anyone_may_bind: true";
}

std::optional<std::string> plaintext_with_certificate(const Config& config) {
  if (!config.server.plaintext || config.tls.certificate.empty()) return std::nullopt;
  return "is true and tls.certificate is given, so the server would not be plain; leave out one of "
         "them";
}

std::optional<std::string> key_without_certificate(const Config& config) {
  if (config.tls.key.empty() == config.tls.certificate.empty()) return std::nullopt;
  return config.tls.key.empty() ? "is missing, and tls.certificate is of no use without it; write "
                                  "the path of its key"
                                : "is given without tls.certificate; write the certificate's path "
                                  "there, or leave out the key";
}

std::optional<std::string> client_ca_without_certificate(const Config& config) {
  if (config.tls.client_ca.empty() || !config.tls.certificate.empty()) return std::nullopt;
  return "is given without tls.certificate, and clients show certificates over TLS alone; write "
         "the server's certificate there, or leave out the client CA";
}

std::optional<std::string> client_names_without_ca(const Config& config) {
  if (config.tls.client_names.empty() || !config.tls.client_ca.empty()) return std::nullopt;
  return "is given without tls.client_ca, so nobody's name could be believed; write the path of "
         "the authority that signs clients there, or leave out the names";
}

std::optional<std::string> webhook_without_certificate(const Config& config) {
  if (!config.webhook.listen || !config.tls.certificate.empty()) return std::nullopt;
  return "is given without tls.certificate, and the API server calls webhooks over TLS alone; "
         "write the certificate's path there, or \"\" here";
}

std::optional<std::string> bodies_below_one(const Config& config) {
  if (config.server.max_bodies_mib >= config.server.max_body_mib) return std::nullopt;
  return "is below server.max_body_mib, " + std::to_string(config.server.max_body_mib) +
         ": the largest request would never fit; write at least that";
}

std::optional<std::string> bind_outlives_booking(const Config& config) {
  // A bind that timed out reads the pod, which may take as long again.
  if (2 * config.bind.timeout < config.scheduler.assume_ttl) return std::nullopt;
  return "is not below half of scheduler.assume_ttl_ms, " +
         milliseconds(config.scheduler.assume_ttl / 2) +
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

std::optional<std::string> renews_after_lease(const Config& config) {
  const auto& election = config.leader_election;
  if (election.renew_deadline < election.lease_duration) return std::nullopt;
  return "is not below leader_election.lease_duration_s, " + milliseconds(election.lease_duration) +
         ": another replica would lead before this one stops; write less, or raise "
         "leader_election.lease_duration_s";
}

std::optional<std::string> retries_after_deadline(const Config& config) {
  const auto& election = config.leader_election;
  // client-go's jitter factor: a wait is up to 1.2 times the period.
  if (election.retry_period * 12 < election.renew_deadline * 10) return std::nullopt;
  return "is not below leader_election.renew_deadline_ms / 1.2, " +
         milliseconds(election.renew_deadline * 10 / 12) +
         ": a leader would have no second attempt; write less, or raise "
         "leader_election.renew_deadline_ms";
}

std::optional<std::string> bind_outlives_lease(const Config& config) {
  const auto& election = config.leader_election;
  if (!election.enabled || config.kube.source == KubeSource::kLocal) return std::nullopt;
  const milliseconds_t left = election.lease_duration - election.retry_period * 12 / 10;
  if (config.bind.timeout < left) return std::nullopt;
  return "is not below leader_election.lease_duration_s less 1.2 x retry_period_ms, " +
         milliseconds(left) +
         ": a leader sends no bind that its Lease may not outlive, so it could send none; write "
         "less, or raise leader_election.lease_duration_s";
}

std::optional<std::string> known_by_nobody(const Config& config) {
  if (config.grants.signing_key.empty() == config.grants.public_keys.empty()) return std::nullopt;
  return config.grants.signing_key.empty()
             ? "is missing, and grants.public_keys is given; write the path of the private key, or "
               "leave both out"
             : "is given, and grants.public_keys is missing; write there the path of the public "
               "keys that the agents have";
}

std::optional<std::string> required_of_others_alone(const Config& config) {
  if (!config.grants.required || !config.grants.signing_key.empty()) return std::nullopt;
  return "is true, and grants.signing_key is missing: no grant of its own would count; write "
         "false, or a grants.signing_key";
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
      {"server.listen", "tls.certificate",
       "server.listen is on loopback, or tls.certificate is given, or server.plaintext is true: "
       "nothing that can bind pods is open to a network by oversight.",
       listens_in_the_open},
      {"server.listen", "tls.client_ca",
       "server.listen is on loopback, or plain on purpose, or tls.client_ca is given, or "
       "server.anyone_may_bind is true: TLS alone does not say who calls.",
       listens_to_anyone},
      {"server.plaintext", "tls.certificate",
       "server.plaintext is true only without tls.certificate.", plaintext_with_certificate},
      {"server.max_bodies_mib", "server.max_body_mib",
       "server.max_bodies_mib is at least server.max_body_mib: the largest request fits.",
       bodies_below_one},
      {"tls.key", "tls.certificate", "tls.key is given if and only if tls.certificate is.",
       key_without_certificate},
      {"tls.client_ca", "tls.certificate", "tls.client_ca is given only with tls.certificate.",
       client_ca_without_certificate},
      {"tls.client_names", "tls.client_ca", "tls.client_names is given only with tls.client_ca.",
       client_names_without_ca},
      {"webhook.listen", "tls.certificate", "webhook.listen is given only with tls.certificate.",
       webhook_without_certificate},
      {"bind.timeout_ms", "scheduler.assume_ttl_ms",
       "bind.timeout_ms is below half of scheduler.assume_ttl_ms: a booking outlives the bind it "
       "is "
       "for, and the reading of its pod afterwards.",
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
      {"leader_election.renew_deadline_ms", "leader_election.lease_duration_s",
       "leader_election.renew_deadline_ms is below leader_election.lease_duration_s: a leader "
       "stops "
       "before another one begins.",
       renews_after_lease},
      {"leader_election.retry_period_ms", "leader_election.renew_deadline_ms",
       "leader_election.retry_period_ms is below leader_election.renew_deadline_ms / 1.2: a leader "
       "has a second attempt.",
       retries_after_deadline},
      {"bind.timeout_ms", "leader_election.lease_duration_s",
       "bind.timeout_ms is below leader_election.lease_duration_s less 1.2 x retry_period_ms: a "
       "Lease outlives the binds that are sent under it.",
       bind_outlives_lease},
      {"grants.signing_key", "grants.public_keys",
       "grants.signing_key is given if and only if grants.public_keys is.", known_by_nobody},
      {"grants.required", "grants.signing_key",
       "grants.required is true only if grants.signing_key is given.", required_of_others_alone},
      {"fragmentation.relearn_every_pods", "fragmentation.learn_window_pods",
       "fragmentation.relearn_every_pods is at most fragmentation.learn_window_pods: every pod is "
       "learned from.",
       relearns_beyond_window}};
  return kRelations;
}

}  // namespace tangram::config
