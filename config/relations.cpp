#include "config/settings.hpp"

#include <chrono>

namespace tangram::config {
namespace {

using Election = Config::LeaderElection;

std::string milliseconds(std::chrono::milliseconds time) {
  return std::to_string(time.count()).append(" ms");
}

/// The server's port is open to a network.
bool is_open(const Config& c) { return !is_loopback(c.server.listen); }
bool has_tls(const Config& c) { return !c.tls.certificate.empty(); }

bool takes_tokens(const Config& c) {
  return c.metrics.authentication == MetricsAuthentication::kToken;
}

/// A bind under the Lease must end this long after the Lease was renewed.
std::chrono::milliseconds lease_for_binds(const Election& election) {
  // client-go's jitter factor: a wait is up to 1.2 times the period.
  return election.lease_duration - election.retry_period * 12 / 10;
}

constexpr std::string_view kKubeconfigAlone =
    "is read with kube.source: kubeconfig alone; write \"\", or kube.source: kubeconfig";

constexpr Relation kRelations[]{
    // ---- Who can reach the server.

    {"server.listen", "tls.certificate",
     "server.listen is on loopback, or tls.certificate is given, or server.plaintext is true: "
     "nothing that can bind pods is open to a network by oversight.",
     [](const Config& c) { return !is_open(c) || has_tls(c) || c.server.plaintext; },
     "is beyond loopback and has no TLS: every client that reaches it could bind pods; write the "
     "paths of a certificate and its key into tls.certificate and tls.key, or allow it with "
     "server.plaintext: true"},
    {"server.listen", "tls.client_ca",
     "server.listen is on loopback, or plain on purpose, or tls.client_ca is given, or "
     "server.anyone_may_bind is true: TLS alone does not authenticate clients.",
     [](const Config& c) {
       return !is_open(c) || !has_tls(c) || !c.tls.client_ca.empty() || c.server.anyone_may_bind;
     },
     "is beyond loopback and accepts unauthenticated clients: every client that reaches it could "
     "bind pods; write the path of the authority that signs kube-scheduler's certificate into "
     "tls.client_ca, or allow it with server.anyone_may_bind: true"},
    {"server.plaintext", "tls.certificate",
     "server.plaintext is true only without tls.certificate.",
     [](const Config& c) { return !c.server.plaintext || !has_tls(c); },
     "is true and tls.certificate is given, so the server would not be plain; leave out one of "
     "them"},
    {"server.max_bodies_mib", "server.max_body_mib",
     "server.max_bodies_mib is at least twice server.max_body_mib: one client without a "
     "certificate "
     "gets half, and the largest request fits.",
     [](const Config& c) { return c.server.max_bodies_mib / 2 >= c.server.max_body_mib; },
     "is below twice server.max_body_mib, {}: the largest request would never fit; write at least "
     "that",
     [](const Config& c) { return std::to_string(2 * c.server.max_body_mib); }},
    {"tls.key", "tls.certificate", "tls.key is given if and only if tls.certificate is.",
     [](const Config& c) { return c.tls.key.empty() != has_tls(c); }, "{}",
     [](const Config& c) -> std::string {
       return has_tls(c) ? "is missing, and tls.certificate is of no use without it; write the "
                           "path of its key"
                         : "is given without tls.certificate; write the certificate's path there, "
                           "or leave out the key";
     }},
    {"tls.client_ca", "tls.certificate", "tls.client_ca is given only with tls.certificate.",
     [](const Config& c) { return c.tls.client_ca.empty() || has_tls(c); },
     "is given without tls.certificate, and clients show certificates over TLS alone; write the "
     "server's certificate there, or leave out the client CA"},
    {"tls.client_names", "tls.client_ca", "tls.client_names is given only with tls.client_ca.",
     [](const Config& c) { return c.tls.client_names.empty() || !c.tls.client_ca.empty(); },
     "is given without tls.client_ca, so names of clients cannot be verified; write the path of "
     "the authority that signs clients there, or leave out the names"},
    {"webhook.listen", "tls.certificate", "webhook.listen is given only with tls.certificate.",
     [](const Config& c) { return !c.webhook.listen || has_tls(c); },
     "is given without tls.certificate, and the API server calls webhooks over TLS alone; write "
     "the certificate's path there, or \"\" here"},
    {"webhook.client_ca", "webhook.listen", "webhook.client_ca is given only with webhook.listen.",
     [](const Config& c) { return c.webhook.client_ca.empty() || c.webhook.listen; },
     "is given without webhook.listen, so there is no webhook that would verify clients; write its "
     "address there, or leave out the client CA"},
    {"webhook.client_names", "webhook.client_ca",
     "webhook.client_names is given only with webhook.client_ca.",
     [](const Config& c) { return c.webhook.client_names.empty() || !c.webhook.client_ca.empty(); },
     "is given without webhook.client_ca, so names of clients cannot be verified; write the path "
     "of the authority that signs API servers' certificates there, or leave out the names"},

    {"metrics.authentication", "metrics.listen",
     "metrics.authentication is token only with metrics.listen.",
     [](const Config& c) { return !takes_tokens(c) || c.metrics.listen; },
     "is token, and metrics have no listener; write its address into metrics.listen, or none here"},
    {"metrics.authentication", "tls.certificate",
     "metrics.authentication is token only with tls.certificate: tokens are not sent in plain "
     "text.",
     [](const Config& c) { return !takes_tokens(c) || has_tls(c); },
     "is token, and without tls.certificate tokens would be sent in plain text; write the "
     "certificate's path there, or none here"},
    {"metrics.authentication", "kube.source",
     "metrics.authentication is token only if kube.source is not local: an API server reviews "
     "tokens.",
     [](const Config& c) { return !takes_tokens(c) || c.kube.source != KubeSource::kLocal; },
     "is token, and with kube.source: local there is no API server that reviews tokens; write "
     "none"},

    // ---- The time that a bind may take.

    {"bind.timeout_ms", "scheduler.assume_ttl_ms",
     "bind.timeout_ms is below half of scheduler.assume_ttl_ms: an assumed allocation outlives its "
     "bind, and the read of its pod afterwards.",
     // A bind that timed out reads the pod, which may take as long again.
     [](const Config& c) { return 2 * c.bind.timeout < c.scheduler.assume_ttl; },
     "is not below half of scheduler.assume_ttl_ms, {}: assumed allocations would expire during "
     "their binds; write less, or raise scheduler.assume_ttl_ms",
     [](const Config& c) { return milliseconds(c.scheduler.assume_ttl / 2); }},
    {"bind.timeout_ms", "server.request_timeout_s",
     "bind.timeout_ms is below server.request_timeout_s: a bind gets to send its answer.",
     [](const Config& c) { return c.bind.timeout < c.server.request_timeout; },
     "is not below server.request_timeout_s, {}: binds would be cut off before their answer; write "
     "less, or raise server.request_timeout_s",
     [](const Config& c) { return milliseconds(c.server.request_timeout); }},
    {"bind.timeout_ms", "server.drain_timeout_s",
     "bind.timeout_ms is at most server.drain_timeout_s: a restart waits for binds in flight.",
     [](const Config& c) { return c.bind.timeout <= c.server.drain_timeout; },
     "is above server.drain_timeout_s, {}: a restart would cut off binds in flight; write less, or "
     "raise server.drain_timeout_s",
     [](const Config& c) { return milliseconds(c.server.drain_timeout); }},

    // ---- Where the cluster is.

    {"kube.cluster_file", "kube.source",
     "kube.cluster_file is given if and only if kube.source is local.",
     [](const Config& c) {
       return (c.kube.source == KubeSource::kLocal) != c.kube.cluster_file.empty();
     },
     "{}",
     [](const Config& c) -> std::string {
       return c.kube.cluster_file.empty()
                  ? "is missing, and kube.source: local needs it; write the path of a YAML file "
                    "with the cluster's nodes"
                  : "is read with kube.source: local alone; write \"\", or kube.source: local";
     }},
    {"kube.kubeconfig", "kube.source",
     "kube.kubeconfig is given only if kube.source is kubeconfig.",
     [](const Config& c) {
       return c.kube.kubeconfig.empty() || c.kube.source == KubeSource::kKubeconfig;
     },
     kKubeconfigAlone},
    {"kube.context", "kube.source", "kube.context is given only if kube.source is kubeconfig.",
     [](const Config& c) {
       return c.kube.context.empty() || c.kube.source == KubeSource::kKubeconfig;
     },
     kKubeconfigAlone},

    // ---- Leader election.

    {"leader_election.renew_deadline_ms", "leader_election.lease_duration_s",
     "leader_election.renew_deadline_ms is below leader_election.lease_duration_s: a leader stops "
     "before another one begins.",
     [](const Config& c) {
       return c.leader_election.renew_deadline < c.leader_election.lease_duration;
     },
     "is not below leader_election.lease_duration_s, {}: another replica would lead before this "
     "one stops; write less, or raise leader_election.lease_duration_s",
     [](const Config& c) { return milliseconds(c.leader_election.lease_duration); }},
    {"leader_election.retry_period_ms", "leader_election.renew_deadline_ms",
     "leader_election.retry_period_ms is below leader_election.renew_deadline_ms / 1.2: a leader "
     "has a second attempt.",
     [](const Config& c) {
       const Election& election = c.leader_election;
       return election.retry_period * 12 < election.renew_deadline * 10;
     },
     "is not below leader_election.renew_deadline_ms / 1.2, {}: a leader would have no second "
     "attempt; write less, or raise leader_election.renew_deadline_ms",
     [](const Config& c) { return milliseconds(c.leader_election.renew_deadline * 10 / 12); }},
    {"bind.timeout_ms", "leader_election.lease_duration_s",
     "bind.timeout_ms is below leader_election.lease_duration_s less 1.2 x retry_period_ms: a "
     "Lease outlives the binds that are sent under it.",
     [](const Config& c) {
       return !c.leader_election.enabled || c.kube.source == KubeSource::kLocal ||
              c.bind.timeout < lease_for_binds(c.leader_election);
     },
     "is not below leader_election.lease_duration_s less 1.2 x retry_period_ms, {}: a leader sends "
     "no bind that its Lease may not outlive, so it could send none; write less, or raise "
     "leader_election.lease_duration_s",
     [](const Config& c) { return milliseconds(lease_for_binds(c.leader_election)); }},

    // ---- Grants, and what is learned of pods.

    {"grants.signing_key", "grants.public_keys",
     "grants.signing_key is given if and only if grants.public_keys is.",
     [](const Config& c) { return c.grants.signing_key.empty() == c.grants.public_keys.empty(); },
     "{}",
     [](const Config& c) -> std::string {
       return c.grants.signing_key.empty()
                  ? "is missing, and grants.public_keys is given; write the path of the private "
                    "key, or leave both out"
                  : "is given, and grants.public_keys is missing; write there the path of the "
                    "public keys that the agents have";
     }},
    {"grants.required", "grants.signing_key",
     "grants.required is true only if grants.signing_key is given.",
     [](const Config& c) { return !c.grants.required || !c.grants.signing_key.empty(); },
     "is true, and grants.signing_key is missing: no grant of its own would count; write false, or "
     "a grants.signing_key"},
    {"fragmentation.relearn_every_pods", "fragmentation.learn_window_pods",
     "fragmentation.relearn_every_pods is at most fragmentation.learn_window_pods: every pod is "
     "learned from.",
     [](const Config& c) {
       return c.fragmentation.relearn_every_pods <= c.fragmentation.learn_window_pods;
     },
     "is above fragmentation.learn_window_pods, {}: pods would be forgotten before they are "
     "learned from; write at most that",
     [](const Config& c) { return std::to_string(c.fragmentation.learn_window_pods); }}};

}  // namespace

std::span<const Relation> relations() { return kRelations; }

}  // namespace tangram::config
