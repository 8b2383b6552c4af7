#pragma once

#include "base/clock.hpp"
#include "base/required.hpp"
#include "cluster/findings.hpp"
#include "kube/api.hpp"
#include "kube/client.hpp"
#include "kube/objects.hpp"
#include "kube/rate_limiter.hpp"

#include <prometheus/collectable.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace tangram::extender {

inline constexpr std::size_t kEvictionOutcomes = 4;
/// "evicted": the label of tangram_evictions_total.
[[nodiscard]] std::string_view to_string(kube::EvictionOutcome outcome);

/// The metric that counts evictions by result.
struct EvictionMetric {
  const char* name;
  const char* help;
};
inline constexpr EvictionMetric kStuckEvictions{
    "tangram_evictions_total", "Evictions requested of pods that can never start, by result."};
inline constexpr EvictionMetric kBrokenCardEvictions{
    "tangram_broken_card_evictions_total",
    "Evictions requested of pods on broken cards, and on cards that are drained, by result."};

struct EvictorSettings {
  bool enabled = true;
  std::chrono::seconds after{60};  ///< a pod must have been to be evicted without a break
  int per_minute = 10;
  std::chrono::milliseconds api_timeout{4'000};
  EvictionMetric metric = kStuckEvictions;
};

/// A pod to be evicted, as things are.
struct EvictionCase {
  cluster::PodName pod;
  /// Nothing = not known yet: it is not evicted, but its time counts.
  std::optional<kube::Controller> controller;
  std::string why;       ///< "the pod cannot start: it was bound without a grant"
  bool at_once = false;  ///< without waiting for EvictorSettings::after
};

/// Evicts pods of controllers, which make others, that are placed anew.
///
/// Only pods of a controller, but not a DaemonSet's, whose next pod would come to the same node,
/// nor mirrors of static pods, which kubelet makes again whatever happens. Of the others, and of
/// all where eviction is disabled, an event says what to do. One eviction at a look
/// and so many a minute, evenly: should a whole node's pods be named by mistake, people have time
/// to see it. Namespaces take turns: of those with a pod that is due, the one comes next whose last
/// turn is longest ago, so that none can use up what the others need. A refused or failed one is
/// tried again after 10 s, doubling up to 5 minutes, or when the server says. What is said of a pod
/// is said once. Threads: look() one at a time, Collect() from
/// any.
class Evictor final : public prometheus::Collectable {
 public:
  struct Parts {
    kube::KubeApi& api;  ///< this and the clock outlive the evictor
    const Clock& clock;
    /// May a write that takes so long be sent now? Until then nothing is reported, either.
    Required<std::function<bool(std::chrono::milliseconds)>> may_write;
    /// Reports to people about a pod; must not block.
    std::function<void(const cluster::PodName&, const std::string& sentence)> report;
    /// Asked before an eviction: why the pod has to stay for now; "" = it may go. Null = it always
    /// may.
    std::function<std::string(const EvictionCase&)> obstacle = nullptr;
    /// The pod is evicted. Null = nobody needs to know.
    std::function<void(const EvictionCase&)> evicted = nullptr;
  };
  Evictor(EvictorSettings settings, Parts parts);

  /// Takes note of who is to be evicted now, and evicts the one whose turn it is, if any. Blocks
  /// for as long as that write takes.
  void look(const std::vector<EvictionCase>& cases);
  [[nodiscard]] std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  struct Case {
    TimePoint since;
    TimePoint next_try;
    std::chrono::seconds backoff;
    std::set<std::string> reported;  ///< what was said of it: a handful of sentences
  };

  void follow(const std::vector<EvictionCase>& cases);
  [[nodiscard]] bool may_evict(const EvictionCase& one) const;
  void report(const EvictionCase& one, Case& its, const std::string& what_next);
  [[nodiscard]] std::string advice(const EvictionCase& one) const;
  /// The pod whose turn it is, of those that are due; null = none. Reports those that stay.
  [[nodiscard]] const EvictionCase* next_of(const std::vector<EvictionCase>& cases);
  void evict(const EvictionCase& one, Case& its);
  void put_off(Case& its, std::chrono::seconds at_least = std::chrono::seconds(0)) const;

  const EvictorSettings settings_;
  const Parts parts_;
  kube::RateLimiter limiter_;
  std::map<std::string, Case, std::less<>> cases_;           ///< by UID
  std::map<std::string, TimePoint, std::less<>> last_turn_;  ///< by namespace; see kRemembered
  std::array<std::atomic<std::uint64_t>, kEvictionOutcomes> results_{};
};

}  // namespace tangram::extender
