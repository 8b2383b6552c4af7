#include "extender/cluster_feed.hpp"

#include "base/json.hpp"
#include "model/cards.hpp"

#include <spdlog/spdlog.h>

namespace tangram::extender {

namespace {

/// "name" or "uid" of an object that cannot be read as a whole; "" if not even that can be read.
std::string metadata_member(std::string object, std::string_view member) {
  std::string value;
  json::Reader in(object);
  in.object([&](std::string_view key) {
    if (key != "metadata") return in.skip();
    in.object([&](std::string_view name) {
      if (name != member) return in.skip();
      value = in.string_or_null();
    });
  });
  return in.finish() ? value : "";
}

}  // namespace

std::optional<model::NodeInventory> NodeFeed::read(std::string object) {
  auto node = kube::decode_node(std::move(object));
  if (!node) {
    ++counters_.bad_objects;
    spdlog::warn("a node could not be read and is left as it was: {}", node.error().message);
    return std::nullopt;
  }
  model::NodeInventory inventory{.name = node->name,
                                 .cards = {},
                                 .cpu = node->cpu,
                                 .memory = node->memory,
                                 .slots = node->slots};
  const auto annotation = node->annotations.find("cards");
  if (annotation == node->annotations.end()) return inventory;
  auto cards = model::decode_cards(annotation->second);
  if (cards) {
    inventory.cards = std::move(*cards);
  } else {
    // Without a readable list no card can be promised to anyone.
    ++counters_.bad_cards;
    spdlog::warn(
        "node {}: annotation tangram.dev/cards is not valid, so its cards take no pods: {}",
        node->name, cards.error().message);
  }
  return inventory;
}

void NodeFeed::replace(std::vector<std::string> objects) {
  std::vector<model::NodeInventory> nodes;
  std::set<std::string, std::less<>> listed;
  nodes.reserve(objects.size());
  for (std::string& object : objects) {
    if (auto node = read(object)) {
      listed.insert(node->name);
      nodes.push_back(std::move(*node));
    } else if (auto name = metadata_member(std::move(object), "name"); known_.contains(name)) {
      listed.insert(std::move(name));  // it exists, whatever it says
    }
  }
  books_.apply([&](model::Ledger& ledger) {
    for (const std::string& name : known_) {
      if (!listed.contains(name)) ledger.remove_node(name);
    }
    for (model::NodeInventory& node : nodes) ledger.put_node(std::move(node));
  });
  known_ = std::move(listed);
}

void NodeFeed::change(kube::EventType type, std::string object) {
  if (type == kube::EventType::kDeleted) {
    const std::string name = metadata_member(std::move(object), "name");
    known_.erase(name);
    books_.apply([&](model::Ledger& ledger) { ledger.remove_node(name); });
    return;
  }
  auto node = read(std::move(object));
  if (!node) return;
  known_.insert(node->name);
  books_.apply([&](model::Ledger& ledger) { ledger.put_node(std::move(*node)); });
}

struct PodFeed::Listed {
  std::vector<Noted> bound;
  Uids bound_uids;
  Uids pending_uids;
  Uids all;
};

void PodFeed::replace(std::vector<std::string> objects) {
  Listed listed;
  for (std::string& object : objects) take_listed(std::move(object), listed);
  pending_.retain(listed.pending_uids);
  for (const std::string& uid : seen_) {
    if (!listed.all.contains(uid)) observer_.ended(uid);
  }
  seen_ = std::move(listed.all);
  books_.apply([&](model::Ledger& ledger) {
    for (Noted& noted : listed.bound) observe(ledger, std::move(noted));
    ledger.retain_observed(listed.bound_uids);
  });
}

void PodFeed::take_listed(std::string object, Listed& listed) {
  auto pod = kube::decode_pod(object);
  if (!pod) {
    ++counters_.bad_objects;
    spdlog::warn("a pod could not be read and is left as it was: {}", pod.error().message);
    const std::string uid = metadata_member(std::move(object), "uid");
    if (!seen_.contains(uid)) return;
    for (Uids* kept : {&listed.all, &listed.pending_uids, &listed.bound_uids}) kept->insert(uid);
    return;
  }
  if (pod->finished) return;
  Noted noted = note(*pod);
  listed.all.insert(pod->uid);
  if (pod->node.empty()) {
    listed.pending_uids.insert(pod->uid);
    pending_.put(std::move(*pod));
  } else {
    listed.bound_uids.insert(pod->uid);
    listed.bound.push_back(std::move(noted));
  }
}

void PodFeed::change(kube::EventType type, std::string object) {
  if (type == kube::EventType::kDeleted) return ended(metadata_member(std::move(object), "uid"));
  auto pod = kube::decode_pod(std::move(object));
  if (!pod) {
    ++counters_.bad_objects;
    spdlog::warn("a pod could not be read and is left as it was: {}", pod.error().message);
    return;
  }
  if (pod->finished) return ended(pod->uid);
  Noted noted = note(*pod);
  if (pod->node.empty()) {
    pending_.put(std::move(*pod));
    return;
  }
  books_.apply([&](model::Ledger& ledger) { observe(ledger, std::move(noted)); });
  pending_.erase(pod->uid);
}

void PodFeed::ended(const std::string& uid) {
  seen_.erase(uid);
  pending_.erase(uid);
  observer_.ended(uid);
  books_.apply([&](model::Ledger& ledger) { ledger.release(uid); });
}

PodFeed::Noted PodFeed::note(const kube::Pod& pod) {
  if (seen_.insert(pod.uid).second) observer_.arrived(pod);
  Recorded recorded = pod.node.empty() ? Recorded{} : recorded_holding(pod, check_);
  observer_.seen(pod, recorded);
  if (!recorded.grant_problem.empty()) {
    ++counters_.bad_grants;
    spdlog::warn("pod {}: annotation {} {}, so it grants nothing", pod.full_name(),
                 model::kGrantAnnotation, recorded.grant_problem);
  }
  const bool proven = !recorded.holding.containers.empty() && !recorded.by_start;
  return {.holding = std::move(recorded.holding), .proven = proven};
}

void PodFeed::observe(model::Ledger& ledger, Noted noted) {
  model::Holding& holding = noted.holding;
  const auto* before = ledger.find(holding.pod_uid);
  const bool held = before != nullptr && before->phase == model::Phase::kConfirmed &&
                    before->holding->node == holding.node && !before->holding->containers.empty();
  if (held && !noted.proven) {
    holding.isolation = before->holding->isolation;
    holding.containers = before->holding->containers;
    holding.labels = before->holding->labels;
  }
  ledger.observe(std::move(holding));
}

}  // namespace tangram::extender
