#include "cluster/card_metrics.hpp"

#include <array>
#include <cstdio>
#include <map>

namespace tangram::cluster {

namespace {

using model::Card;
using model::CardUse;
using model::NodeState;

constexpr std::int64_t kBytesPerMebibyte = 1'048'576;
constexpr std::size_t kNodesPerPiece = 64;  // about 100 KiB of text

std::string bytes(Mebibytes amount) { return std::to_string(amount.count() * kBytesPerMebibyte); }

/// Thousandths as a decimal number, exactly.
std::string ratio(MilliGpu amount) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%lld.%03lld",
                static_cast<long long>(amount.count() / 1000),
                static_cast<long long>(amount.count() % 1000));
  return text.data();
}

/// Pods with a part of each card: a pod counts once, however many of its containers share it.
std::map<std::string_view, int> pods_per_card(const NodeState& node) {
  std::map<std::string_view, int> pods;
  for (const model::AllocationPtr& allocation : node.allocations) {
    std::map<std::string_view, bool> mine;
    for (const auto& container : allocation->containers) {
      for (const auto& card : container.cards) mine[card.uuid] = true;
    }
    for (const auto& [uuid, held] : mine) ++pods[uuid];
  }
  return pods;
}

struct Family {
  std::string_view name;
  std::string_view help;
  std::string (*value)(const Card& card, const CardUse& use, int pods);
};

constexpr std::array<Family, 6> kFamilies{{
    {"tangram_card_memory_capacity_bytes", "Memory of the card that pods can be granted.",
     [](const Card& card, const CardUse&, int) { return bytes(card.memory); }},
    {"tangram_card_memory_granted_bytes", "Memory of the card that pods have been granted.",
     [](const Card&, const CardUse& use, int) { return bytes(use.memory); }},
    {"tangram_card_compute_capacity_ratio",
     "Compute of the card that pods can be granted; 1 = the whole card.",
     [](const Card& card, const CardUse&, int) { return ratio(card.compute); }},
    {"tangram_card_compute_granted_ratio",
     "Compute of the card that pods have been granted; 1 = the whole card.",
     [](const Card&, const CardUse& use, int) { return ratio(use.compute); }},
    {"tangram_card_pods", "Pods that hold a part of the card.",
     [](const Card&, const CardUse&, int pods) { return std::to_string(pods); }},
    {"tangram_card_healthy", "1 if the card is healthy and not cordoned, else 0.",
     [](const Card& card, const CardUse&, int) {
       return std::string(card.available() ? "1" : "0");
     }},
}};

void write_node(std::string& out, const Family& family, const NodeState& node) {
  const auto pods = pods_per_card(node);
  for (std::size_t i = 0; i < node.cards().size(); ++i) {
    const Card& card = node.cards()[i];
    const auto count = pods.find(card.id);
    out.append(family.name).append("{node=\"").append(escape_label(node.name));
    out.append("\",uuid=\"").append(escape_label(card.id));
    out.append("\",model=\"").append(escape_label(card.model));
    out.append("\",card=\"").append(std::to_string(i)).append("\"} ");
    out.append(family.value(card, node.use[i], count == pods.end() ? 0 : count->second))
        .append("\n");
  }
}

}  // namespace

std::string escape_label(std::string_view value) {
  std::string escaped;
  escaped.reserve(value.size());
  for (const char c : value) {
    if (c == '\\' || c == '"') escaped += '\\';
    if (c == '\n') {
      escaped += "\\n";
    } else {
      escaped += c;
    }
  }
  return escaped;
}

CardMetrics::CardMetrics(ClusterPtr cluster)
    : cluster_(std::move(cluster)), nodes_(cluster_->sorted_nodes()) {}

bool CardMetrics::next(std::string& out) {
  if (family_ == kFamilies.size()) return false;
  const Family& family = kFamilies[family_];
  if (node_ == 0) {
    out.append("# HELP ").append(family.name).append(" ").append(family.help).append("\n");
    out.append("# TYPE ").append(family.name).append(" gauge\n");
  }
  const std::size_t end = std::min(node_ + kNodesPerPiece, nodes_.size());
  for (; node_ < end; ++node_) {
    const NodeState& node = *nodes_[node_];
    if (model::has_tentative(node)) {
      write_node(out, family, model::granted_only(node));
    } else {
      write_node(out, family, node);
    }
  }
  if (node_ == nodes_.size()) {
    node_ = 0;
    ++family_;
  }
  return true;
}

}  // namespace tangram::cluster
