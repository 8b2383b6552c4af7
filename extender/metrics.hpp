#pragma once

#include "base/clock.hpp"
#include "cluster/findings.hpp"
#include "extender/admission/service.hpp"
#include "extender/evictor.hpp"
#include "extender/page/broadcast.hpp"
#include "extender/scheduling/binder.hpp"
#include "extender/scheduling/waiting_pods.hpp"
#include "http/server.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tangram::extender {

enum class Verb { kFilter, kPrioritize, kBind, kPreempt };
inline constexpr std::size_t kVerbs = 4;
[[nodiscard]] std::string_view to_string(Verb verb);

struct ListenerGauges {
  http::Counters http;
  std::optional<WallTime> certificate_expires;  ///< nothing = plain HTTP
  std::uint64_t reload_failures = 0;
};

/// Values read from the parts at the moment of a scrape.
struct Gauges {
  std::size_t nodes = 0;
  std::size_t cards = 0;
  std::size_t bound_pods = 0;
  std::size_t pending_pods = 0;
  std::size_t assumed_pods = 0;
  std::size_t held_pods = 0;
  double fragmentation_ratio = 0;
  Mebibytes stranded_memory;
  double nodes_watch_lag_seconds = 0;
  double pods_watch_lag_seconds = 0;
  bool leader = false;
  std::map<Wait, std::size_t> waiting;
  std::map<cluster::Finding, std::size_t> findings;
  std::size_t over_granted_cards = 0;
  std::size_t stray_grants = 0;
  std::uint64_t bad_objects = 0;
  std::uint64_t bad_cards = 0;
  std::uint64_t bad_grants = 0;
  std::map<std::string, std::size_t> grants_by_key;
  std::vector<std::string> grant_keys_known;  ///< ids
  bool grant_keys_stale = false;
  std::map<std::string, ListenerGauges> listeners;  ///< by name
  Broadcast::Counts streams;
};

/// GET /metrics: what the service itself does. Its size does not depend on the cluster's.
/// Threads: safe.
class Metrics {
 public:
  Metrics();
  ~Metrics();
  Metrics(const Metrics&) = delete;
  Metrics& operator=(const Metrics&) = delete;

  void request_done(Verb verb, std::chrono::nanoseconds took);
  void bind_done(BindOutcome outcome);
  void admission_done(const AdmissionService::Done& done);
  void eviction_done(kube::EvictionOutcome outcome);

  /// The page, in the Prometheus text format.
  [[nodiscard]] std::string text(const Gauges& gauges);

 private:
  struct Families;
  std::unique_ptr<Families> families_;
};

}  // namespace tangram::extender
