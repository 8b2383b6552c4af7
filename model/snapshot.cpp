#include "model/snapshot.hpp"

#include <algorithm>
#include <array>
#include <mutex>
#include <new>
#include <utility>

namespace tangram::model {

namespace {

/// Blocks of memory for one size that were given back. Every change of a node takes one, on
/// whatever thread, and the last reader of a snapshot gives it back on another one. The C library's
/// allocator does not put such large aligned blocks together again, so its heaps grew.
template <std::size_t kBytes, std::size_t kAlignment>
class FreeBlocks {
 public:
  /// Never destroyed: snapshots may be kept until the very end.
  static FreeBlocks& all() {
    static auto* const kAll = new FreeBlocks;  // NOLINT(cppcoreguidelines-owning-memory)
    return *kAll;
  }

  void* take() {
    {
      const std::scoped_lock lock(mutex_);
      if (count_ > 0) return blocks_[--count_];
    }
    return ::operator new(kBytes, std::align_val_t(kAlignment));
  }
  void give_back(void* block) noexcept {
    {
      const std::scoped_lock lock(mutex_);
      if (count_ < blocks_.size()) {
        blocks_[count_++] = block;
        return;
      }
    }
    ::operator delete(block, std::align_val_t(kAlignment));
  }

 private:
  std::mutex mutex_;
  std::array<void*, 64> blocks_{};  ///< about a MiB of runs: more are free at a time only by chance
  std::size_t count_ = 0;
};

/// For std::allocate_shared(), which takes one block for the value and its count.
template <class T>
struct FromFreeBlocks {
  using value_type = T;
  using Blocks = FreeBlocks<sizeof(T), alignof(T)>;

  FromFreeBlocks() = default;
  template <class U>
  explicit FromFreeBlocks(const FromFreeBlocks<U>& /*other*/) {}

  T* allocate(std::size_t /*one*/) { return static_cast<T*>(Blocks::all().take()); }
  void deallocate(T* block, std::size_t /*one*/) noexcept { Blocks::all().give_back(block); }
  template <class U>
  friend bool operator==(const FromFreeBlocks&, const FromFreeBlocks<U>&) {
    return true;
  }
};

template <class... Args>
std::shared_ptr<NodeRun> make_run(Args&&... args) {
  return std::allocate_shared<NodeRun>(FromFreeBlocks<NodeRun>(), std::forward<Args>(args)...);
}

}  // namespace

NodeTag::NodeTag(const NodeState& node, Look look)
    : node_(&node),
      look_version_(look.version),
      look_index_(look.index),
      least_priority_(node.least_priority),
      length_(fits(node.name) ? static_cast<std::uint8_t>(node.name.size()) : kLonger) {
  node.name.copy(name_.data(), kRoom);
}

NodeTag::NameRest NodeTag::rest_of(const NodeState& node) {
  NameRest rest{};
  if (has_rest(node.name) && fits(node.name)) node.name.copy(rest.data(), rest.size(), kRestFrom);
  return rest;
}

void ClusterSnapshot::lookup(std::span<const std::string_view> names,
                             std::span<Found> found) const {
  for (std::size_t first = 0; first < names.size(); first += kLookupBlock) {
    const std::size_t count = std::min(kLookupBlock, names.size() - first);
    lookup_block(names.subspan(first, count), found.subspan(first, count));
  }
}

/// In three steps: what a step asks for has come from memory when the next one reads it.
void ClusterSnapshot::lookup_block(std::span<const std::string_view> names,
                                   std::span<Found> found) const {
  // Not zeroed: each is written before it is read.
  // NOLINTBEGIN(cppcoreguidelines-pro-type-member-init)
  std::array<std::uint32_t, kLookupBlock> hashes;
  std::array<NodeIndex, kLookupBlock> likely;
  std::array<const NodeTag*, kLookupBlock> tags;
  // NOLINTEND(cppcoreguidelines-pro-type-member-init)
  for (std::size_t i = 0; i < names.size(); ++i) {
    hashes[i] = hash_of(names[i]);
    names_->fetch(hashes[i]);
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    likely[i] = names_->first(hashes[i]);
    if (likely[i] == kNoNode) continue;
    tags[i] = &tag(likely[i]);
    __builtin_prefetch(tags[i]);
    if (NodeTag::has_rest(names[i])) __builtin_prefetch(&name_rest(likely[i]));
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (likely[i] == kNoNode) {
      found[i] = {};
    } else if (is_of(names[i], likely[i], *tags[i])) {
      found[i] = found_of(likely[i], *tags[i]);
    } else {
      found[i] = find_by_hash(names[i], hashes[i]);  // two have the same hash
    }
  }
}

std::vector<ClusterSnapshot::Found> ClusterSnapshot::present() const {
  std::vector<Found> nodes;
  nodes.reserve(node_count());
  for_each_present([&](const Found& found) { nodes.push_back(found); });
  return nodes;
}

std::vector<const NodeState*> ClusterSnapshot::sorted_nodes() const {
  std::vector<const NodeState*> nodes;
  nodes.reserve(node_count());
  for_each([&](const NodeState& node) { nodes.push_back(&node); });
  std::sort(nodes.begin(), nodes.end(),
            [](const NodeState* a, const NodeState* b) { return a->name < b->name; });
  return nodes;
}

NodeState NodeTable::checkout(std::string_view name) const {
  if (const NodeState* known = find(name)) return *known;
  NodeState node;
  node.equip({});
  node.name = name;
  return node;
}

const NodeState* NodeTable::find(std::string_view name) const {
  const auto index = index_of(name);
  return index ? &at(*index) : nullptr;
}

std::optional<NodeIndex> NodeTable::index_of(std::string_view name) const {
  return names_.find(hash_of(name), [&](NodeIndex index) { return at(index).name == name; });
}

const NodeState& NodeTable::at(NodeIndex index) const {
  return *runs_[index / kNodesPerRun].nodes->nodes[index % kNodesPerRun];
}

void NodeTable::put(NodeState node) {
  if (!node.present && node.allocations.empty()) return erase(node.name);
  auto index = index_of(node.name);
  if (!index) {
    if (unused_.empty()) {
      index = next_++;
    } else {
      index = unused_.back();
      unused_.pop_back();
    }
    names_.add(hash_of(node.name), *index);
    names_changed_ = true;
  }
  node.version = ++version_;
  node.make = shared(std::move(node.make));
  store(*index, std::make_shared<const NodeState>(std::move(node)));
}

NodeTable::MakePtr NodeTable::shared(MakePtr make) {
  const auto known = std::find_if(makes_.begin(), makes_.end(), [&](const MakePtr& other) {
    return other == make || (other && *other == *make);
  });
  if (known != makes_.end()) return *known;
  makes_[next_make_] = make;
  next_make_ = (next_make_ + 1) % makes_.size();
  return make;
}

void NodeTable::erase(const std::string& name) {
  const auto index = index_of(name);
  if (!index) return;
  ++version_;
  names_.remove(hash_of(name), *index);
  store(*index, nullptr);
  unused_.push_back(*index);
  names_changed_ = true;
}

void NodeTable::store(NodeIndex index, NodePtr node) {
  while (runs_.size() <= index / kNodesPerRun) runs_.push_back({make_run(), false});
  Run& run = runs_[index / kNodesPerRun];
  if (run.shared) run = {make_run(*run.nodes), false};
  NodeTag& tag = run.nodes->tags[index % kNodesPerRun];
  const Look look = node && node->present ? looks_.join(node) : Look{};
  if (tag.look().version != 0) looks_.leave(tag.look());
  tag = node ? NodeTag(*node, look) : NodeTag();
  run.nodes->name_rests[index % kNodesPerRun] =
      node ? NodeTag::rest_of(*node) : NodeTag::NameRest{};
  run.nodes->briefs[index % kNodesPerRun] = node ? brief_of(*node) : NodeBrief();
  run.nodes->nodes[index % kNodesPerRun] = std::move(node);
  // NOLINTNEXTLINE(clang-analyzer-cplusplus.NewDeleteLeaks): blocks are kept, to be used again
}

std::shared_ptr<const ClusterSnapshot> NodeTable::publish() {
  if (published_->version() == version_) return published_;
  looks_.publish();
  if (names_changed_) {
    published_names_ = std::make_shared<const HashIndex>(names_);
    names_changed_ = false;
  }
  std::vector<std::shared_ptr<const NodeRun>> runs;
  runs.reserve(runs_.size());
  for (Run& run : runs_) {
    run.shared = true;
    runs.push_back(run.nodes);
  }
  published_ = std::make_shared<const ClusterSnapshot>(version_, published_names_, std::move(runs),
                                                       looks_.places());
  return published_;
}

}  // namespace tangram::model
