#pragma once

#include "base/clock.hpp"

#include <chrono>
#include <cstddef>
#include <list>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace tangram::extender {

/// Remembers, per pod UID, the nodes that were offered and did not lead to a bind, so that a
/// volume or a Reserve plugin that refuses the best node cannot hold the pod forever.
///
/// A node counts as refused if its bind failed, or if one filter ranked it first and the next
/// filter of the same pod comes without a bind in between. Of the other nodes in that answer
/// nothing is known: most likely the scheduler never tried them. Refusals are forgotten after
/// `penalty`, and the pods least recently filtered when there are more than `max_pods`.
/// Threads: safe.
class Offers {
 public:
  /// Of one pod; more refused nodes than this are forgotten, oldest first: past it the order in
  /// which a cluster's nodes are tried again hardly matters.
  static constexpr std::size_t kMaxRefusedPerPod = 64;

  Offers(const Clock& clock, std::size_t max_pods, std::chrono::milliseconds penalty)
      : clock_(clock), max_pods_(max_pods), penalty_(penalty) {}

  /// A filter of the pod begins: what was offered first before and not bound is refused now.
  /// @returns the nodes to rank last
  std::set<std::string, std::less<>> begin_filter(std::string_view uid);

  /// The filter ranked this node first.
  void offered(std::string_view uid, std::string_view node);

  /// The pod's bind to the node failed.
  void bind_failed(std::string_view uid, std::string_view node);

  /// The pod is bound or gone.
  void forget(std::string_view uid);

  /// The nodes to rank last, without beginning a filter.
  [[nodiscard]] std::set<std::string, std::less<>> refused(std::string_view uid) const;

  [[nodiscard]] std::size_t pods() const;

 private:
  struct Refusal {
    std::string node;
    TimePoint until;
  };
  struct Memory {
    std::string offered;           ///< empty = nothing since the last filter or bind
    std::vector<Refusal> refused;  ///< oldest first
    std::list<std::string>::iterator recency;
  };

  Memory& touch(std::string_view uid);
  void refuse(Memory& memory, std::string node);
  [[nodiscard]] std::set<std::string, std::less<>> current(const Memory& memory) const;

  const Clock& clock_;
  const std::size_t max_pods_;
  const std::chrono::milliseconds penalty_;
  mutable std::mutex mutex_;
  std::unordered_map<std::string, Memory> pods_;
  std::list<std::string> by_recency_;  ///< most recently filtered first
};

}  // namespace tangram::extender
