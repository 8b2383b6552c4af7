#pragma once

#include "extender/scheduling/pod_view.hpp"
#include "model/snapshot.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <optional>
#include <string_view>

namespace tangram::extender {

/// In which order kube-scheduler names nodes: its own, by zones, and the same for one pod after the
/// other. After a node mostly comes the one that came then in an earlier request, and a guess that
/// is right spares the search for a name. A wrong one costs time and nothing else, for names are
/// compared.
/// Threads: safe.
class NodeOrder {
 public:
  /// Before anything is learned, what stands behind it in the ledger.
  [[nodiscard]] model::NodeIndex after(model::NodeIndex index) const {
    return index + 1 + steps_[index % kPlaces].load(std::memory_order_relaxed);
  }
  void learn(model::NodeIndex index, model::NodeIndex next) {
    steps_[index % kPlaces].store(next - index - 1, std::memory_order_relaxed);
  }

 private:
  /// 128 KiB. Larger clusters share places, and are guessed wrong more often.
  static constexpr std::size_t kPlaces = 1U << 15U;

  /// How far beyond the next place, modulo 2^32.
  std::array<std::atomic<model::NodeIndex>, kPlaces> steps_{};
};

/// Finds the nodes of one request, one after the other.
/// Refers to both, which must outlive it. Threads: one at a time.
class NodeWalk {
 public:
  NodeWalk(const PodView& view, NodeOrder& order) : view_(view), order_(order) {}

  /// @returns nothing for a node that is not known or not present
  [[nodiscard]] std::optional<model::ClusterSnapshot::Found> find(std::string_view name) {
    if (const auto* replaced = view_.replacement(name)) {
      last_ = order_.after(last_);  // most likely
      return PodView::made_up(*replaced);
    }
    auto found = guessed(name);
    if (!found) {
      found = view_.cluster().lookup(name);
      if (found) order_.learn(last_, found->index);
    }
    if (found) last_ = found->index;
    return found;
  }

 private:
  /// The next one, or the one behind it: for this pod the scheduler may leave out some.
  [[nodiscard]] std::optional<model::ClusterSnapshot::Found> guessed(std::string_view name) const {
    const model::NodeIndex next = order_.after(last_);
    if (auto found = view_.cluster().lookup_at(next, name)) return found;
    return view_.cluster().lookup_at(order_.after(next), name);
  }

  const PodView& view_;
  NodeOrder& order_;
  model::NodeIndex last_ = ~model::NodeIndex{0};  ///< before the first one
};

}  // namespace tangram::extender
