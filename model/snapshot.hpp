#pragma once

#include "model/hash_index.hpp"
#include "model/node_brief.hpp"
#include "model/node_looks.hpp"
#include "model/node_state.hpp"

#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tangram::model {

/// Where a node stands in the table. Stable while the node is known; reused afterwards.
using NodeIndex = std::uint32_t;
inline constexpr NodeIndex kNoNode = HashIndex::kNone;

/// What a walk over thousands of nodes needs to know of each one, in a line of the processor's
/// cache of its own: is it the node that is meant, and how does it look? Most looks are known, and
/// such nodes are left where they lie in memory, which is what a walk would otherwise wait for.
class alignas(64) NodeTag {
 public:
  /// Of a name that is longer than the tag has room for, such as those of nodes on EKS and GKE:
  /// what follows, in a line of its own.
  using NameRest = std::array<char, 64>;

  NodeTag() = default;
  /// @param node  outlives the tag
  NodeTag(const NodeState& node, Look look);

  /// Of the node; version 0 if none stands here, or it is not present.
  [[nodiscard]] Look look() const { return {.version = look_version_, .index = look_index_}; }
  /// As of the node; null if none stands here.
  [[nodiscard]] const NodeState* node() const { return node_; }
  [[nodiscard]] int least_priority() const { return least_priority_; }
  /// @param rest  called if the name has one: returns rest_of() the node
  template <class Rest>
  [[nodiscard, gnu::always_inline]] bool is_of(std::string_view name, Rest&& rest) const {
    if (length_ != name.size()) return length_ == kLonger && node_->name == name;
    if (!has_rest(name)) return same_bytes(name_.data(), name.data(), length_);
    if (length_ == kLonger) return node_->name == name;
    const NameRest& end = rest();
    return same_bytes(name_.data(), name.data(), kRoom) &&
           same_bytes(end.data(), name.data() + kRestFrom, length_ - kRestFrom);
  }
  [[nodiscard]] static NameRest rest_of(const NodeState& node);
  [[nodiscard]] static bool has_rest(std::string_view name) { return name.size() > kRoom; }

 private:
  static constexpr std::size_t kRoom = 39;      // what is left of 64 bytes
  static constexpr std::size_t kRestFrom = 32;  // the shortest rest has eight bytes, too
  static constexpr std::uint8_t kLonger = 255;

  [[nodiscard]] static bool fits(std::string_view name) {
    return name.size() <= kRestFrom + sizeof(NameRest);
  }

  /// Without a call, which takes longer than to compare a name.
  [[nodiscard]] static bool same_bytes(const char* a, const char* b, std::size_t size) {
    constexpr std::size_t kWord = sizeof(std::uint64_t);
    if (size < kWord) return std::memcmp(a, b, size) == 0;
    const auto differ = [&](std::size_t at) {
      std::uint64_t of_a = 0;
      std::uint64_t of_b = 0;
      std::memcpy(&of_a, a + at, kWord);
      std::memcpy(&of_b, b + at, kWord);
      return of_a != of_b;
    };
    for (std::size_t at = 0; at + kWord < size; at += kWord) {
      if (differ(at)) return false;
    }
    return !differ(size - kWord);  // overlaps the one before it
  }

  const NodeState* node_ = nullptr;
  std::uint64_t look_version_ = 0;
  std::uint32_t look_index_ = 0;
  int least_priority_ = kNoPriority;
  std::uint8_t length_ = 0;  ///< of the name; kLonger = it has no room in both
  std::array<char, kRoom> name_{};
};
static_assert(sizeof(NodeTag) == 64);

/// Nodes are shared between snapshots in runs of this many, so that publishing one costs a
/// pointer per run, not per node.
inline constexpr std::size_t kNodesPerRun = 64;
struct NodeRun {  // NOLINT(cppcoreguidelines-pro-type-member-init): made with zeros
  std::array<NodePtr, kNodesPerRun> nodes;
  std::array<NodeTag, kNodesPerRun> tags;  ///< of the same nodes
  std::array<NodeTag::NameRest, kNodesPerRun> name_rests;
  std::array<NodeBrief, kNodesPerRun> briefs;
};

/// All that a reader may know, frozen at one moment. Safe to read from any thread, for as long
/// as the pointer to it is held.
class ClusterSnapshot {
 public:
  ClusterSnapshot() : names_(std::make_shared<const HashIndex>()) {}
  ClusterSnapshot(std::uint64_t version, std::shared_ptr<const HashIndex> names,
                  std::vector<std::shared_ptr<const NodeRun>> runs, std::size_t look_places)
      : version_(version),
        names_(std::move(names)),
        runs_(std::move(runs)),
        look_places_(look_places) {}

  /// The version of the latest change it holds.
  [[nodiscard]] std::uint64_t version() const { return version_; }

  /// @returns null for a node that is not known or not present
  [[nodiscard]] const NodeState* find(std::string_view name) const {
    const auto found = lookup(name);
    return found ? found->node : nullptr;
  }

  /// A present node and where it stands, for caches beside the ledger.
  struct Found {
    NodeIndex index = kNoNode;
    int least_priority = kNoPriority;  ///< as of the node, without a look at it
    Look look = {};
    const NodeState* node = nullptr;  ///< null only where it says so
  };
  [[nodiscard]] std::optional<Found> lookup(std::string_view name) const {
    const auto index = index_of(name);
    return index ? found_at(*index) : std::nullopt;
  }
  /// The same for many names, each to its place; null where there is no such node. Where one is
  /// gone but still has pods, only the index is given.
  void lookup(std::span<const std::string_view> names, std::span<Found> found) const;

  /// @returns nothing if no present node stands there
  [[nodiscard]] std::optional<Found> found_at(NodeIndex index) const {
    if (index >= slots()) return std::nullopt;
    const Found found = found_of(index, tag(index));
    return found.node == nullptr ? std::nullopt : std::optional(found);
  }

  /// @returns null if nothing stands there: the index may come from a newer or older snapshot
  [[nodiscard]] const NodeState* at(NodeIndex index) const {
    return index < slots() ? slot(index).get() : nullptr;
  }

  /// The same, to keep beyond the snapshot.
  [[nodiscard]] NodePtr share(NodeIndex index) const {
    return index < slots() ? slot(index) : nullptr;
  }
  /// Of the node that stands there.
  /// @param index  below slots()
  [[nodiscard]] const NodeBrief& brief(NodeIndex index) const {
    return runs_[index / kNodesPerRun]->briefs[index % kNodesPerRun];
  }
  /// Every index lies below.
  [[nodiscard]] std::size_t slots() const { return runs_.size() * kNodesPerRun; }
  /// The index of every look lies below.
  [[nodiscard]] std::size_t look_places() const { return look_places_; }
  /// Also of nodes that are gone but still have pods.
  [[nodiscard]] std::optional<NodeIndex> index_of(std::string_view name) const {
    return index_of(name, hash_of(name));
  }

  /// Every node, also those that are gone but still have pods. In no particular order.
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (const auto& run : runs_) {
      for (const NodePtr& node : run->nodes) {
        if (node) visit(*node);
      }
    }
  }

  /// Every present node.
  template <class Visit>
  void for_each_present(Visit&& visit) const {
    for (NodeIndex index = 0; index < slots(); ++index) {
      if (const auto found = found_at(index)) visit(*found);
    }
  }

  /// The same, in the same order.
  [[nodiscard]] std::vector<Found> present() const;

  /// Every node, by name.
  [[nodiscard]] std::vector<const NodeState*> sorted_nodes() const;

  [[nodiscard]] std::size_t node_count() const { return names_->size(); }

 private:
  [[nodiscard]] std::optional<NodeIndex> index_of(std::string_view name, std::uint32_t hash) const {
    return names_->find(hash, [&](NodeIndex index) { return is_of(name, index, tag(index)); });
  }
  /// @returns as lookup() does
  [[nodiscard]] Found find_by_hash(std::string_view name, std::uint32_t hash) const {
    const auto index = index_of(name, hash);
    return index ? found_of(*index, tag(*index)) : Found{};
  }
  /// Names that are looked up together.
  static constexpr std::size_t kLookupBlock = 64;
  /// @param names  at most kLookupBlock
  void lookup_block(std::span<const std::string_view> names, std::span<Found> found) const;
  /// @param tag  of what stands at the index
  [[nodiscard, gnu::always_inline]] bool is_of(std::string_view name, NodeIndex index,
                                               const NodeTag& tag) const {
    return tag.is_of(name, [&]() -> const NodeTag::NameRest& { return name_rest(index); });
  }
  /// @param tag  of what stands at the index
  /// @returns only the index if no present node stands there
  [[nodiscard]] static Found found_of(NodeIndex index, const NodeTag& tag) {
    if (tag.look().version == 0) return {.index = index};
    return {.index = index,
            .least_priority = tag.least_priority(),
            .look = tag.look(),
            .node = tag.node()};
  }
  // For these, index < slots().

  [[nodiscard]] const NodePtr& slot(NodeIndex index) const {
    return runs_[index / kNodesPerRun]->nodes[index % kNodesPerRun];
  }
  [[nodiscard]] const NodeTag& tag(NodeIndex index) const {
    return runs_[index / kNodesPerRun]->tags[index % kNodesPerRun];
  }
  [[nodiscard]] const NodeTag::NameRest& name_rest(NodeIndex index) const {
    return runs_[index / kNodesPerRun]->name_rests[index % kNodesPerRun];
  }

  std::uint64_t version_ = 0;
  std::shared_ptr<const HashIndex> names_;  ///< by hash_of(name)
  std::vector<std::shared_ptr<const NodeRun>> runs_;
  std::size_t look_places_ = 0;
};

/// The nodes as the Ledger keeps them: found by name, changed by replacing, published cheaply.
/// Threads: not safe; the snapshots it hands out are.
class NodeTable {
 public:
  /// A copy to change and hand to put(); a new one (not present, empty) if the name is new.
  [[nodiscard]] NodeState checkout(std::string_view name) const;
  [[nodiscard]] const NodeState* find(std::string_view name) const;

  /// Stores the node as the next version; drops it if it is not present and holds nothing.
  void put(NodeState node);

  [[nodiscard]] std::shared_ptr<const ClusterSnapshot> publish();

 private:
  using MakePtr = std::shared_ptr<const CardMake>;

  /// An equal one that was put lately, or else this one.
  MakePtr shared(MakePtr make);
  [[nodiscard]] std::optional<NodeIndex> index_of(std::string_view name) const;
  [[nodiscard]] const NodeState& at(NodeIndex index) const;
  void erase(const std::string& name);
  /// @param node  may be null
  void store(NodeIndex index, NodePtr node);

  std::uint64_t version_ = 0;
  HashIndex names_;  ///< by hash_of(name)
  NodeLooks looks_;
  std::array<MakePtr, 16> makes_;  ///< the latest ones; clusters have few, and any number is right
  std::size_t next_make_ = 0;
  std::vector<NodeIndex> unused_;  ///< indices of nodes that left
  NodeIndex next_ = 0;
  struct Run {
    std::shared_ptr<NodeRun> nodes;
    bool shared = false;  ///< a snapshot reads it: copy before the next write
  };
  std::vector<Run> runs_;
  std::shared_ptr<const HashIndex> published_names_ = std::make_shared<const HashIndex>();
  bool names_changed_ = false;
  std::shared_ptr<const ClusterSnapshot> published_ = std::make_shared<const ClusterSnapshot>();
};

}  // namespace tangram::model
