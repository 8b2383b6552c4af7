#pragma once

#include "model/snapshot.hpp"
#include "policies/policy.hpp"
#include "policies/shape.hpp"
#include "policies/verdict.hpp"

#include <boost/container/small_vector.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace tangram::policies {

/// Remembers what a policy said of a shape of pod on nodes of every look.
///
/// Pods come in few shapes and one bind changes one node, so nearly all answers of the last filter
/// of the same shape are still right; and what was said of one node holds for all that look alike.
/// The version of a look never stands for another one: readers of older and newer snapshots may
/// share a cache. Answers to pods that name cards hold for one node in one version, and are
/// remembered by that.
///
/// Shapes that only one pod had are on probation, apart from the others: however many of them come,
/// they push out no shape that comes again and again. Where many shapes take turns, the second pod
/// of one comes late: then only the shape's name is still known, and that proves it.
///
/// It belongs to one set of policies, which must outlive it; new policies (another workload) need a
/// new cache. Memory: a shape takes 16 bytes for each look; there are at most twice as many looks
/// as nodes. If it names cards, it takes 16 bytes for each node instead. What a policy keeps of
/// cards comes on top, see BriefScorer.
///
/// Threads: safe. One pass of a shape goes on at a time; the next one waits and finds its work
/// done. Several threads may share the walk of a pass.
class ChoiceCache {
 public:
  struct Key {
    const Policy* policy = nullptr;
    model::PodDemand shape;
    friend bool operator==(const Key&, const Key&) = default;
  };
  using KeyPtr = std::shared_ptr<const Key>;

 private:
  /// A verdict in 16 bytes: many are kept. Threads: one pass has one version for each place, so
  /// those that write at a time write the same.
  class Answer {
   public:
    [[nodiscard]] bool is_of(std::uint64_t version) const {
      return std::atomic_ref(version_).load(std::memory_order_acquire) == version;
    }
    [[nodiscard]] Verdict verdict() const {
      return std::atomic_ref(verdict_).load(std::memory_order_relaxed);
    }
    void set(std::uint64_t version, Verdict verdict) {
      std::atomic_ref(verdict_).store(verdict, std::memory_order_relaxed);
      std::atomic_ref(version_).store(version, std::memory_order_release);
    }

   private:
    /// Not 0, which nodes without a look have.
    static constexpr std::uint64_t kNone = std::numeric_limits<std::uint64_t>::max();

    // Mutable, since std::atomic_ref of C++20 refers to nothing const.
    mutable std::uint64_t version_ = kNone;  ///< of the look, or the node
    mutable Verdict verdict_;
  };
  struct Shape {
    explicit Shape(KeyPtr name) : key(std::move(name)) {}
    [[nodiscard]] std::unique_ptr<BriefScorer> brief_scorer() const {
      return key->policy->brief_scorer(key->shape);
    }

    const KeyPtr key;
    std::mutex busy;
    std::vector<Answer> answers;  ///< by the index of looks, or of nodes
    /// Of the thread that has a pass: what it knows of cards serves the next pass, too. Null =
    /// none.
    std::unique_ptr<BriefScorer> scorer = brief_scorer();
  };

 public:
  /// @param shapes  how many of at least two pods are remembered, the most recently used ones;
  /// >= 1.
  ///                Beside them half as many of one pod each, at least one
  explicit ChoiceCache(std::size_t shapes) : limit_(shapes) {}

  /// One shape's walk over the nodes. Holds the shape: keep it no longer than the walk.
  class Pass {
   public:
    /// What one thread has found out so far, in one pass.
    class Walk {
      friend class Pass;
      model::CardMemo memo_;
      std::unique_ptr<BriefScorer> scorer_;  ///< null = not needed yet, or the shape's will do
      std::set<std::uint64_t> untried_;      ///< versions of what the budget did not suffice for
    };

    /// The node is of the pass's cluster, or made up, and outlives the pass.
    /// @returns kNotTried, which is not remembered, where the budget did not suffice
    [[nodiscard]] Verdict judge(const model::ClusterSnapshot::Found& found) {
      Verdict verdict;
      judge({&found, 1}, {&verdict, 1});
      return verdict;
    }
    /// The same for many nodes, each to its place. Those that are null are left out.
    /// @returns how often the policy was asked; kBriefsPerQuestion briefs count as once
    std::size_t judge(std::span<const model::ClusterSnapshot::Found> nodes,
                      std::span<Verdict> verdicts) {
      return judge(nodes, verdicts, walk_);
    }
    /// The same on several threads, each with a walk of its own.
    std::size_t judge(std::span<const model::ClusterSnapshot::Found> nodes,
                      std::span<Verdict> verdicts, Walk& walk) const;
    /// Not where a search may be needed: the budget would be shared.
    [[nodiscard]] bool may_be_shared() const { return demand_.gpu.containers.size() <= 1; }

   private:
    friend class ChoiceCache;
    Pass(const Policy& policy, const model::PodDemand& demand,
         const model::ClusterSnapshot& cluster, model::SearchBudget& budget,
         std::shared_ptr<Shape> shape)
        : policy_(policy),
          demand_(demand),
          cluster_(cluster),
          budget_(budget),
          by_node_(!demand.gpu.card_ids.empty()),
          shape_(std::move(shape)),
          lock_(shape_->busy) {
      const std::size_t places = by_node_ ? cluster.slots() : cluster.look_places();
      if (shape_->answers.size() < places) shape_->answers.resize(places);
      if (shape_->scorer != nullptr) shape_->scorer->begin_walk();
    }

    // By what an answer for a node is remembered: the node if the pod names cards, else its look.
    // Version 0 = it is not remembered.

    [[nodiscard]] static model::Look by_look(const model::ClusterSnapshot::Found& found) {
      return found.look;
    }
    [[nodiscard]] static model::Look by_node(const model::ClusterSnapshot::Found& found) {
      const bool made_up = found.look.version == 0;
      if (made_up) return {};
      return {.version = found.node->version, .index = found.index};
    }
    [[nodiscard]] model::Look key_of(const model::ClusterSnapshot::Found& found) const {
      return by_node_ ? by_node(found) : by_look(found);
    }
    /// @returns null if nothing is remembered
    [[nodiscard]] static const Answer* find(std::span<const Answer> answers, model::Look key) {
      const bool known = key.index < answers.size() && answers[key.index].is_of(key.version);
      return known ? &answers[key.index] : nullptr;
    }
    using Unknown = boost::container::small_vector<std::uint32_t, 64>;  ///< which of some nodes
    template <auto kKeyOf>
    [[nodiscard]] Unknown judge_known(std::span<const model::ClusterSnapshot::Found> nodes,
                                      std::span<Verdict> verdicts) const;
    static constexpr std::size_t kBriefsPerQuestion = 32;
    /// @param unknown  those without briefs are left
    /// @returns how many it judged
    std::size_t judge_in_brief(std::span<const model::ClusterSnapshot::Found> nodes,
                               Unknown& unknown, std::span<Verdict> verdicts, Walk& walk) const;
    /// Only where the shape has one.
    [[nodiscard]] BriefScorer& scorer_of(Walk& walk) const;
    std::size_t judge_unknown(std::span<const model::ClusterSnapshot::Found> nodes,
                              const Unknown& unknown, std::span<Verdict> verdicts,
                              Walk& walk) const;
    [[nodiscard]] Verdict judge_anew(const model::ClusterSnapshot::Found& found, model::Look key,
                                     Walk& walk) const;
    [[nodiscard]] Verdict ask_policy(const model::NodeState& node, Walk& walk) const;

    const Policy& policy_;
    const model::PodDemand& demand_;
    const model::ClusterSnapshot& cluster_;
    model::SearchBudget& budget_;
    const bool by_node_;
    Walk walk_;  ///< of the thread that opened it, before or without others
    std::shared_ptr<Shape> shape_;
    std::unique_lock<std::mutex> lock_;
  };

  /// The shapes of at least two pods that are remembered, the least recently used first. Questions
  /// wait meanwhile, so only pointers are copied.
  [[nodiscard]] std::vector<KeyPtr> shapes() const;

  /// All arguments outlive the pass.
  /// @param cluster  whose nodes it is asked about
  /// @param budget   pays for what is not known yet
  /// @param pod      the UID of the pod that asks, as often as it may; empty = many ask
  [[nodiscard]] Pass open(const Policy& policy, const model::PodDemand& demand,
                          const model::ClusterSnapshot& cluster, model::SearchBudget& budget,
                          std::string_view pod);

 private:
  struct KeyHash {
    using is_transparent = void;
    [[nodiscard]] std::size_t operator()(const Key& key) const;
    [[nodiscard]] std::size_t operator()(const KeyPtr& key) const { return (*this)(*key); }
  };
  struct KeyEqual {
    using is_transparent = void;
    [[nodiscard]] bool operator()(const KeyPtr& a, const KeyPtr& b) const { return *a == *b; }
    [[nodiscard]] bool operator()(const Key& a, const KeyPtr& b) const { return a == *b; }
    [[nodiscard]] bool operator()(const KeyPtr& a, const Key& b) const { return *a == b; }
  };
  struct Entry {
    KeyPtr key;
    std::shared_ptr<Shape> shape;  ///< null = its answers are forgotten
    std::string first_pod;         ///< that asked
    bool proven = false;           ///< another one has asked
  };
  using Entries = std::list<Entry>;  ///< the latest used first

  [[nodiscard]] std::shared_ptr<Shape> shape_for(const Key& key, std::string_view pod);
  void forget_beyond(std::size_t most, Entries& entries);

  /// Shapes whose names are known for each that is remembered: some hundred bytes each.
  static constexpr std::size_t kNames = 8;

  const std::size_t limit_;
  mutable std::mutex mutex_;  ///< guards what follows
  Entries once_;              ///< not proven
  Entries names_;             ///< of once_, without their answers
  Entries proven_;
  std::unordered_map<KeyPtr, Entries::iterator, KeyHash, KeyEqual> index_;
};

}  // namespace tangram::policies
