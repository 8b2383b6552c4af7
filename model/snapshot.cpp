#include "model/snapshot.hpp"

#include <algorithm>

namespace tangram::model {

NodeTag::NodeTag(const NodeState& node)
    : version_(node.present ? node.version : 0),
      length_(node.name.size() <= kRoom ? static_cast<std::uint8_t>(node.name.size()) : kLonger) {
  if (length_ != kLonger) std::copy(node.name.begin(), node.name.end(), name_.begin());
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
  const auto found = names_.find(name);
  if (found == names_.end()) return nullptr;
  return runs_[found->second / kNodesPerRun].nodes->nodes[found->second % kNodesPerRun].get();
}

void NodeTable::put(NodeState node) {
  if (!node.present && node.allocations.empty()) return erase(node.name);
  const auto found = names_.find(node.name);
  NodeIndex index = 0;
  if (found != names_.end()) {
    index = found->second;
  } else {
    if (unused_.empty()) {
      index = next_++;
    } else {
      index = unused_.back();
      unused_.pop_back();
    }
    names_.emplace(node.name, index);
    names_changed_ = true;
  }
  node.version = ++version_;
  node.make = shared(std::move(node.make));
  store(index, std::make_shared<const NodeState>(std::move(node)));
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
  const auto found = names_.find(name);
  if (found == names_.end()) return;
  ++version_;
  store(found->second, nullptr);
  unused_.push_back(found->second);
  names_.erase(found);
  names_changed_ = true;
}

void NodeTable::store(NodeIndex index, NodePtr node) {
  while (runs_.size() <= index / kNodesPerRun)
    runs_.push_back({std::make_shared<NodeRun>(), false});
  Run& run = runs_[index / kNodesPerRun];
  if (run.shared) run = {std::make_shared<NodeRun>(*run.nodes), false};
  run.nodes->tags[index % kNodesPerRun] = node ? NodeTag(*node) : NodeTag();
  run.nodes->nodes[index % kNodesPerRun] = std::move(node);
}

std::shared_ptr<const ClusterSnapshot> NodeTable::publish() {
  if (published_->version() == version_) return published_;
  if (names_changed_) {
    published_names_ = std::make_shared<const NodeNames>(names_);
    names_changed_ = false;
  }
  std::vector<std::shared_ptr<const NodeRun>> runs;
  runs.reserve(runs_.size());
  for (Run& run : runs_) {
    run.shared = true;
    runs.push_back(run.nodes);
  }
  published_ = std::make_shared<const ClusterSnapshot>(version_, published_names_, std::move(runs));
  return published_;
}

}  // namespace tangram::model
