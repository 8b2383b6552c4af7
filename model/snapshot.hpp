#pragma once

#include "model/hash_index.hpp"
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

/// What a walk over thousands of nodes needs to know of each one, in a line of the processor's
/// cache of its own: is it the node that is meant, and how does it look? Most looks are known, and
/// such nodes are left where they lie in memory, which is what a walk would otherwise wait for.
class alignas(64) NodeTag {
 public:
  NodeTag() = default;
  NodeTag(const NodeState& node, Look look);

  /// Of the node; version 0 if none stands here, or it is not present.
  [[nodiscard]] Look look() const { return {.version = look_version_, .index = look_index_}; }
  /// @param node  the one that this is the tag of
  [[nodiscard]] bool is_of(std::string_view name, const NodeState& node) const {
    if (length_ == kLonger) return node.name == name;
    return length_ == name.size() && same_bytes(name_.data(), name.data(), length_);
  }

 private:
  static constexpr std::uint8_t kRoom = 51;  // what is left of 64 bytes
  static constexpr std::uint8_t kLonger = 255;

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

  std::uint64_t look_version_ = 0;
  std::uint32_t look_index_ = 0;
  std::uint8_t length_ = 0;  ///< of the name; kLonger = it has no room here
  std::array<char, kRoom> name_{};
};

/// Nodes are shared between snapshots in runs of this many, so that publishing one costs a
/// pointer per run, not per node.
inline constexpr std::size_t kNodesPerRun = 64;
struct NodeRun {
  std::array<NodePtr, kNodesPerRun> nodes;
  std::array<NodeTag, kNodesPerRun> tags;  ///< of the same nodes
};

/// All that a reader may know, frozen at one moment. Safe to read from any thread, for as long
/// as the pointer to it is held.
class ClusterSnapshot {
 public:
  ClusterSnapshot() : names_(std::make_shared<const HashIndex>()) {}
  ClusterSnapshot(std::uint64_t version, std::shared_ptr<const HashIndex> names,
                  std::vector<std::shared_ptr<const NodeRun>> runs)
      : version_(version), names_(std::move(names)), runs_(std::move(runs)) {}

  /// The version of the latest change it holds.
  [[nodiscard]] std::uint64_t version() const { return version_; }

  /// @returns null for a node that is not known or not present
  [[nodiscard]] const NodeState* find(std::string_view name) const {
    const auto found = lookup(name);
    return found ? found->node : nullptr;
  }

  /// A present node and where it stands, for caches beside the ledger.
  struct Found {
    NodeIndex index = 0;
    Look look = {};
    const NodeState* node = nullptr;  ///< null only where it says so
  };
  [[nodiscard]] std::optional<Found> lookup(std::string_view name) const {
    const auto index = index_of(name);
    return index ? found_at(*index) : std::nullopt;
  }
  /// The same for many names, each to its place; null where there is no such node.
  void lookup(std::span<const std::string_view> names, std::span<Found> found) const;

  /// @returns nothing if no present node stands there
  [[nodiscard]] std::optional<Found> found_at(NodeIndex index) const {
    if (index >= slots()) return std::nullopt;
    const Found found = present_at(index);
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
  /// Every index lies below.
  [[nodiscard]] std::size_t slots() const { return runs_.size() * kNodesPerRun; }
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
    return names_->find(hash, [&](NodeIndex index) { return stands_at(index, name); });
  }
  /// Names that are looked up together.
  static constexpr std::size_t kLookupBlock = 64;
  /// @param names  at most kLookupBlock
  void lookup_block(std::span<const std::string_view> names, std::span<Found> found) const;
  // For these, index < slots().

  [[nodiscard]] bool stands_at(NodeIndex index, std::string_view name) const {
    return tag(index).is_of(name, *slot(index));
  }
  /// @returns null if no present node stands there
  [[nodiscard]] Found present_at(NodeIndex index) const {
    const Look look = tag(index).look();
    return look.version == 0 ? Found{} : Found{index, look, slot(index).get()};
  }
  [[nodiscard]] const NodePtr& slot(NodeIndex index) const {
    return runs_[index / kNodesPerRun]->nodes[index % kNodesPerRun];
  }
  [[nodiscard]] const NodeTag& tag(NodeIndex index) const {
    return runs_[index / kNodesPerRun]->tags[index % kNodesPerRun];
  }

  std::uint64_t version_ = 0;
  std::shared_ptr<const HashIndex> names_;  ///< by hash_of(name)
  std::vector<std::shared_ptr<const NodeRun>> runs_;
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
