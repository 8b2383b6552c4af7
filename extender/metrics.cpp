#include "extender/metrics.hpp"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <array>
#include <mutex>
#include <utility>
#include <vector>

namespace tangram::extender {

namespace {

/// From a cached filter of a small cluster to kube-scheduler's own time-out of 5 s.
const prometheus::Histogram::BucketBoundaries kLatencyBuckets{
    0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5};

constexpr std::array<Verb, kVerbs> kAllVerbs{Verb::kFilter, Verb::kPrioritize, Verb::kBind,
                                             Verb::kPreempt};
constexpr std::array<BindOutcome, kBindOutcomes> kAllOutcomes{
    BindOutcome::kBound,      BindOutcome::kAlreadyBound, BindOutcome::kNoRoom,
    BindOutcome::kRefused,    BindOutcome::kUnknown,      BindOutcome::kInvalid,
    BindOutcome::kUnavailable};

constexpr std::array<AdmissionCall, kAdmissionCalls> kAllCalls{AdmissionCall::kMutate,
                                                               AdmissionCall::kValidate};
constexpr std::array<AdmissionOutcome, kAdmissionOutcomes> kAllAdmissions{
    AdmissionOutcome::kAllowed, AdmissionOutcome::kPatched, AdmissionOutcome::kRefused,
    AdmissionOutcome::kUnreadable};

constexpr std::array<kube::EvictionOutcome, 4> kAllEvictions{
    kube::EvictionOutcome::kEvicted, kube::EvictionOutcome::kGone, kube::EvictionOutcome::kRefused,
    kube::EvictionOutcome::kFailed};

prometheus::Family<prometheus::Gauge>& gauge(prometheus::Registry& registry, const char* name,
                                             const char* help) {
  return prometheus::BuildGauge().Name(name).Help(help).Register(registry);
}

}  // namespace

std::string_view to_string(Verb verb) {
  switch (verb) {
    case Verb::kFilter:
      return "filter";
    case Verb::kPrioritize:
      return "prioritize";
    case Verb::kBind:
      return "bind";
    case Verb::kPreempt:
      return "preempt";
  }
  return "unknown";
}

struct Metrics::Families {
  Families() {
    auto& durations = prometheus::BuildHistogram()
                          .Name("tangram_extender_request_duration_seconds")
                          .Help("Time to answer a request of kube-scheduler, by verb.")
                          .Register(registry);
    auto& bind_results = prometheus::BuildCounter()
                             .Name("tangram_binds_total")
                             .Help("Bind requests answered, by result.")
                             .Register(registry);
    auto& eviction_results =
        prometheus::BuildCounter()
            .Name("tangram_evictions_total")
            .Help("Evictions asked for of pods that can never start, by result.")
            .Register(registry);
    auto& admission_results =
        prometheus::BuildCounter()
            .Name("tangram_admission_requests_total")
            .Help("Requests of the API server to the admission webhook, by result.")
            .Register(registry);
    auto& admission_durations =
        prometheus::BuildHistogram()
            .Name("tangram_admission_request_duration_seconds")
            .Help("Time to answer a request of the API server to the admission webhook.")
            .Register(registry);
    // Made up front, so that every series is there from the first scrape on.
    for (const Verb verb : kAllVerbs) {
      duration[static_cast<std::size_t>(verb)] =
          &durations.Add({{"verb", std::string(to_string(verb))}}, kLatencyBuckets);
    }
    for (const BindOutcome outcome : kAllOutcomes) {
      binds[static_cast<std::size_t>(outcome)] =
          &bind_results.Add({{"result", std::string(to_string(outcome))}});
    }
    for (const AdmissionCall call : kAllCalls) {
      const std::string operation(to_string(call));
      const auto place = static_cast<std::size_t>(call);
      admission_duration[place] =
          &admission_durations.Add({{"operation", operation}}, kLatencyBuckets);
      for (const AdmissionOutcome outcome : kAllAdmissions) {
        admissions[place][static_cast<std::size_t>(outcome)] = &admission_results.Add(
            {{"operation", operation}, {"result", std::string(to_string(outcome))}});
      }
    }
    for (const kube::EvictionOutcome outcome : kAllEvictions) {
      evictions[static_cast<std::size_t>(outcome)] =
          &eviction_results.Add({{"result", std::string(to_string(outcome))}});
    }
  }

  /// A counter whose value another part keeps.
  static void raise(prometheus::Counter& counter, std::uint64_t to) {
    counter.Increment(static_cast<double>(to) - counter.Value());
  }

  void set(const std::string& name, const ListenerGauges& listener) {
    const prometheus::Labels label{{"listener", name}};
    const auto shed_by = [&](const char* what, std::uint64_t count) {
      raise(shed.Add({{"listener", name}, {"what", what}}), count);
    };
    connections.Add(label).Set(static_cast<double>(listener.http.open));
    shed_by("connection", listener.http.rejected);
    shed_by("evicted", listener.http.evicted);
    shed_by("rate", listener.http.too_fast);
    shed_by("body", listener.http.bodies_refused);
    if (!listener.certificate_expires) return;
    shed_by("handshake", listener.http.handshakes_failed);
    raise(reload_failures.Add(label), listener.reload_failures);
    certificate_expiry.Add(label).Set(
        std::chrono::duration<double>(listener.certificate_expires->time_since_epoch()).count());
  }

  prometheus::Registry registry;
  std::array<prometheus::Histogram*, kVerbs> duration{};
  std::array<prometheus::Counter*, kBindOutcomes> binds{};
  std::array<prometheus::Counter*, kAllEvictions.size()> evictions{};
  std::array<prometheus::Histogram*, kAdmissionCalls> admission_duration{};
  std::array<std::array<prometheus::Counter*, kAdmissionOutcomes>, kAdmissionCalls> admissions{};

  prometheus::Gauge& nodes = gauge(registry, "tangram_nodes", "Nodes in the ledger.").Add({});
  prometheus::Gauge& cards = gauge(registry, "tangram_cards", "Cards in the ledger.").Add({});
  prometheus::Gauge& bound =
      gauge(registry, "tangram_bound_pods", "Pods that hold something on a node, cards or not.")
          .Add({});
  prometheus::Gauge& pending =
      gauge(registry, "tangram_pending_pods", "Pods without a node, of every scheduler.").Add({});
  prometheus::Family<prometheus::Gauge>& waiting =
      gauge(registry, "tangram_waiting_pods",
            "Pods that ask for a GPU and have no node, by what kube-scheduler was last told of "
            "each; the leader alone is asked.");
  prometheus::Gauge& assumed =
      gauge(registry, "tangram_assumed_pods", "Pods whose bind is under way.").Add({});
  prometheus::Gauge& held =
      gauge(registry, "tangram_held_pods", "Pods for which room is held until their bind comes.")
          .Add({});
  prometheus::Gauge& over_granted =
      gauge(registry, "tangram_over_granted_cards",
            "Cards whose grants exceed them; the pods bound last do not start.")
          .Add({});
  prometheus::Gauge& strays =
      gauge(registry, "tangram_stray_grants", "Grants of cards that their node does not list.")
          .Add({});
  prometheus::Family<prometheus::Gauge>& findings =
      gauge(registry, "tangram_pod_findings",
            "Pods with something wrong, by what; events and /api/v1/explain say what to do.");
  prometheus::Gauge& fragmentation =
      gauge(registry, "tangram_fragmentation_ratio",
            "Idle GPU that the recent requests cannot use, of all idle GPU.")
          .Add({});
  prometheus::Gauge& stranded = gauge(registry, "tangram_stranded_memory_bytes",
                                      "Free memory of cards whose compute is all granted.")
                                    .Add({});
  prometheus::Family<prometheus::Gauge>& lag =
      gauge(registry, "tangram_watch_lag_seconds",
            "Time since the API server was last heard of, by what is watched.");
  prometheus::Gauge& nodes_lag = lag.Add({{"resource", "nodes"}});
  prometheus::Gauge& pods_lag = lag.Add({{"resource", "pods"}});
  prometheus::Gauge& leader =
      gauge(registry, "tangram_leader", "1 if this replica binds pods, else 0.").Add({});
  prometheus::Family<prometheus::Counter>& bad =
      prometheus::BuildCounter()
          .Name("tangram_rejected_objects_total")
          .Help(
              "Objects of the API server that could not be taken as they stand, by what was wrong.")
          .Register(registry);
  prometheus::Counter& bad_objects = bad.Add({{"what", "object"}});
  prometheus::Counter& bad_cards = bad.Add({{"what", "cards"}});
  prometheus::Counter& bad_grants = bad.Add({{"what", "grant"}});
  prometheus::Family<prometheus::Gauge>& grants_by_key =
      gauge(registry, "tangram_grants_by_key",
            "Bound pods' grants by the id of the key that signed them; unsigned; unknown.");
  prometheus::Family<prometheus::Gauge>& known_keys =
      gauge(registry, "tangram_grant_key_known", "1 for every public key whose grants count.");
  prometheus::Gauge& stale_keys =
      gauge(registry, "tangram_grant_keys_stale",
            "1 if the files of keys cannot be used, and those from before count; see the log.")
          .Add({});
  std::vector<prometheus::Gauge*> by_key;  ///< of the two families above, since the last scrape
  std::vector<prometheus::Gauge*> known;
  prometheus::Family<prometheus::Gauge>& connections =
      gauge(registry, "tangram_http_connections", "Connections being served, by listener.");
  prometheus::Family<prometheus::Counter>& shed =
      prometheus::BuildCounter()
          .Name("tangram_http_shed_total")
          .Help(
              "What was turned away or cut to stay within limits, by listener and what: connection "
              "(all were busy), evicted (one that waited for its client), rate (its address opens "
              "too many a second), body (no memory for it), handshake (TLS that failed).")
          .Register(registry);
  prometheus::Family<prometheus::Gauge>& certificate_expiry =
      gauge(registry, "tangram_tls_certificate_expiry_timestamp_seconds",
            "When the certificate in force expires, by listener.");
  prometheus::Family<prometheus::Counter>& reload_failures =
      prometheus::BuildCounter()
          .Name("tangram_tls_reload_failures_total")
          .Help(
              "Changes of the TLS files that could not be used, so that the former certificate "
              "stayed in force, by listener.")
          .Register(registry);
  prometheus::Gauge& streams =
      gauge(registry, "tangram_event_streams", "Pages that follow the packing.").Add({});
  prometheus::Family<prometheus::Counter>& streams_shed =
      prometheus::BuildCounter()
          .Name("tangram_event_streams_shed_total")
          .Help(
              "Streams of events that were not served to stay within limits, by what: refused "
              "(there "
              "were as many as may be), dropped (read too slowly).")
          .Register(registry);
  prometheus::Counter& streams_refused = streams_shed.Add({{"what", "refused"}});
  prometheus::Counter& streams_dropped = streams_shed.Add({{"what", "dropped"}});
  std::mutex scrape;  ///< one scrape sets the gauges and reads them in one go
};

Metrics::Metrics() : families_(std::make_unique<Families>()) {}
Metrics::~Metrics() = default;

void Metrics::request_done(Verb verb, std::chrono::nanoseconds took) {
  families_->duration[static_cast<std::size_t>(verb)]->Observe(
      std::chrono::duration<double>(took).count());
}

void Metrics::bind_done(BindOutcome outcome) {
  families_->binds[static_cast<std::size_t>(outcome)]->Increment();
}

void Metrics::admission_done(const AdmissionService::Done& done) {
  const auto call = static_cast<std::size_t>(done.call);
  families_->admissions[call][static_cast<std::size_t>(done.outcome)]->Increment();
  families_->admission_duration[call]->Observe(std::chrono::duration<double>(done.took).count());
}

void Metrics::eviction_done(kube::EvictionOutcome outcome) {
  families_->evictions[static_cast<std::size_t>(outcome)]->Increment();
}

namespace {

using Series = std::vector<std::pair<std::string, double>>;  ///< by key

/// Keys come and go; those that are gone are not shown for ever.
void replace_series(prometheus::Family<prometheus::Gauge>& family,
                    std::vector<prometheus::Gauge*>& shown, const Series& now) {
  for (prometheus::Gauge* gauge : shown) family.Remove(gauge);
  shown.clear();
  for (const auto& [key, value] : now) {
    shown.push_back(&family.Add({{"key", key}}));
    shown.back()->Set(value);
  }
}

}  // namespace

std::string Metrics::text(const Gauges& gauges) {
  Families& f = *families_;
  const std::scoped_lock lock(f.scrape);
  f.nodes.Set(static_cast<double>(gauges.nodes));
  f.cards.Set(static_cast<double>(gauges.cards));
  f.bound.Set(static_cast<double>(gauges.bound_pods));
  f.pending.Set(static_cast<double>(gauges.pending_pods));
  f.assumed.Set(static_cast<double>(gauges.assumed_pods));
  f.held.Set(static_cast<double>(gauges.held_pods));
  f.over_granted.Set(static_cast<double>(gauges.over_granted_cards));
  f.strays.Set(static_cast<double>(gauges.stray_grants));
  for (const auto& [wait, pods] : gauges.waiting) {
    f.waiting.Add({{"reason", std::string(to_string(wait))}}).Set(static_cast<double>(pods));
  }
  for (const auto& [finding, pods] : gauges.findings) {
    f.findings.Add({{"finding", std::string(to_string(finding))}}).Set(static_cast<double>(pods));
  }
  f.fragmentation.Set(gauges.fragmentation_ratio);
  f.stranded.Set(static_cast<double>(gauges.stranded_memory.count()) * 1'048'576);
  f.nodes_lag.Set(gauges.nodes_watch_lag_seconds);
  f.pods_lag.Set(gauges.pods_watch_lag_seconds);
  f.leader.Set(gauges.leader ? 1 : 0);
  Families::raise(f.bad_objects, gauges.bad_objects);
  Families::raise(f.bad_cards, gauges.bad_cards);
  Families::raise(f.bad_grants, gauges.bad_grants);
  Series by_key;
  for (const auto& [key, pods] : gauges.grants_by_key) {
    by_key.emplace_back(key, static_cast<double>(pods));
  }
  replace_series(f.grants_by_key, f.by_key, by_key);
  Series known;
  for (const std::string& key : gauges.grant_keys_known) known.emplace_back(key, 1);
  replace_series(f.known_keys, f.known, known);
  f.stale_keys.Set(gauges.grant_keys_stale ? 1 : 0);
  for (const auto& [name, listener] : gauges.listeners) f.set(name, listener);
  f.streams.Set(static_cast<double>(gauges.streams.streams));
  Families::raise(f.streams_refused, gauges.streams.refused);
  Families::raise(f.streams_dropped, gauges.streams.dropped);
  return prometheus::TextSerializer().Serialize(f.registry.Collect());
}

}  // namespace tangram::extender
