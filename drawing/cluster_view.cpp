#include "drawing/cluster_view.hpp"

#include "base/json.hpp"

#include <set>
#include <string_view>

namespace tangram::drawing {

namespace {

ShareView read_share(json::Reader& in) {
  ShareView share;
  in.object([&](std::string_view key) {
    if (key == "namespace") {
      share.ns = in.string();
    } else if (key == "name") {
      share.pod = in.string();
    } else if (key == "memMiB") {
      share.mem_mib = in.integer();
    } else if (key == "milli") {
      share.milli = in.integer();
    } else {
      in.skip();
    }
  });
  return share;
}

/// @returns false if the member is not a text or a switch
bool read_card_state(json::Reader& in, CardView& card, std::string_view key) {
  if (key == "uuid") {
    card.uuid = in.string();
  } else if (key == "model") {
    card.model = in.string();
  } else if (key == "reason") {
    card.reason = in.string();
  } else if (key == "isolation") {
    card.mode = in.string_or_null();
  } else if (key == "healthy") {
    card.healthy = in.boolean();
  } else if (key == "cordoned") {
    card.cordoned = in.boolean();
  } else {
    return false;
  }
  return true;
}

CardView read_card(json::Reader& in) {
  CardView card;
  in.object([&](std::string_view key) {
    if (read_card_state(in, card, key)) return;
    if (key == "memMiB") {
      card.mem_mib = in.integer();
    } else if (key == "milli") {
      card.milli = in.integer();
    } else if (key == "grantedMemMiB") {
      card.granted_mem_mib = in.integer();
    } else if (key == "grantedMilli") {
      card.granted_milli = in.integer();
    } else if (key == "pods") {
      in.array([&] { card.shares.push_back(read_share(in)); });
    } else {
      in.skip();
    }
  });
  return card;
}

NodeView read_node(json::Reader& in) {
  NodeView node;
  in.object([&](std::string_view key) {
    if (key == "name") {
      node.name = in.string();
    } else if (key == "cpuMilli") {
      node.cpu_milli = in.integer();
    } else if (key == "freeCpuMilli") {
      node.free_cpu_milli = in.integer();
    } else if (key == "pods") {
      node.pods = in.integer();
    } else if (key == "cards") {
      in.array([&] { node.cards.push_back(read_card(in)); });
    } else {
      in.skip();
    }
  });
  return node;
}

std::string read_pending(json::Reader& in) {
  std::string ns;
  std::string name;
  in.object([&](std::string_view key) {
    if (key == "namespace") {
      ns = in.string();
    } else if (key == "name") {
      name = in.string();
    } else {
      in.skip();
    }
  });
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
  in.object([&](std::string_view key) {
    if (key == "nodes") {
      in.array([&] { view.nodes.push_back(read_node(in)); });
    } else if (key == "pending") {
      in.array([&] { view.pending.push_back(read_pending(in)); });
    } else {
      in.skip();
    }
  });
  if (auto done = in.finish(); !done) return done.error();
  return view;
}

}  // namespace tangram::drawing
