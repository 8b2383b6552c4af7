#include "drawing/cluster_view.hpp"

#include "base/json_members.hpp"

#include <set>
#include <string_view>

namespace tangram::drawing {

namespace {

ShareView read_share(json::Reader& in) {
  ShareView share;
  json::read_members(in, "namespace", share.ns, "name", share.pod, "memMiB", share.mem_mib, "milli",
                     share.milli);
  return share;
}

CardView read_card(json::Reader& in) {
  CardView card;
  json::read_members(in, "uuid", card.uuid, "model", card.model, "reason", card.reason, "isolation",
                     card.mode, "healthy", card.healthy, "cordoned", card.cordoned, "memMiB",
                     card.mem_mib, "milli", card.milli, "grantedMemMiB", card.granted_mem_mib,
                     "grantedMilli", card.granted_milli, "pods",
                     json::each(card.shares, read_share));
  return card;
}

NodeView read_node(json::Reader& in) {
  NodeView node;
  json::read_members(in, "name", node.name, "cpuMilli", node.cpu_milli, "freeCpuMilli",
                     node.free_cpu_milli, "pods", node.pods, "cards",
                     json::each(node.cards, read_card));
  return node;
}

std::string read_pending(json::Reader& in) {
  std::string ns;
  std::string name;
  json::read_members(in, "namespace", ns, "name", name);
  return ns + "/" + name;
}

}  // namespace

std::size_t ClusterView::card_count() const {
  std::size_t count = 0;
  for (const NodeView& node : nodes) count += node.cards.size();
  return count;
}

std::vector<std::string> ClusterView::namespaces() const {
  std::set<std::string> names;
  for (const NodeView& node : nodes) {
    for (const CardView& card : node.cards) {
      for (const ShareView& share : card.shares) names.insert(share.ns);
    }
  }
  return {names.begin(), names.end()};
}

std::string family_of(const std::string& pod) {
  constexpr std::size_t kSuffix = 5;
  constexpr std::string_view kLetters = "bcdfghjklmnpqrstvwxz2456789";
  if (pod.size() < kSuffix + 2 || pod[pod.size() - kSuffix - 1] != '-') return pod;
  const std::string_view suffix = std::string_view(pod).substr(pod.size() - kSuffix);
  if (suffix.find_first_not_of(kLetters) != std::string_view::npos) return pod;
  return pod.substr(0, pod.size() - kSuffix - 1);
}

Result<ClusterView> read_cluster_view(std::string json) {
  ClusterView view;
  json::Reader in(json);
  in.make_texts_lines();
  json::read_members(in, "nodes", json::each(view.nodes, read_node), "pending",
                     json::each(view.pending, read_pending));
  if (auto done = in.finish(); !done) return done.error();
  return view;
}

}  // namespace tangram::drawing
