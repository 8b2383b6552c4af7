#include "node/readings.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace tangram::node {
namespace {

using UseByPodAndCard = std::map<std::pair<std::string, std::string>, std::uint64_t>;

UseByPodAndCard read_use(const std::vector<CardReading>& cards, const Processes& processes) {
  std::vector<PodUse> uses;
  for (const auto& [card, activity] : cards) {
    if (activity) add_pod_uses(card.id, *activity, processes, "", uses);
  }
  UseByPodAndCard used;
  for (const PodUse& use : uses) used[{use.pod_uid, use.card}] = use.bytes;
  return used;
}

bool has_whole_card(const model::GrantedCard& part, const std::vector<CardReading>& cards) {
  return std::any_of(cards.begin(), cards.end(), [&](const CardReading& reading) {
    return reading.card.id == part.uuid && takes_whole(part, reading.card);
  });
}

/// By the isolation mode, and by what holds the container beside it.
Enforcement enforcement(const LocalPod& pod, const std::string& container,
                        const model::GrantedCard& part, const PodSources& of) {
  Enforcement now = of.enforcers.of(pod.grant->isolation).enforcement(part);
  const ContainerOnCard key{pod.pod.uid, container, part.uuid};
  const auto means = of.started.find(key);
  if (means != of.started.end() && means->second >= model::MemoryLimits::kLibrary) {
    now.memory = Holder::kServer;
  }
  if (of.leased.contains(key)) now.compute = Holder::kServer;
  return now;
}

/// What the pod was granted, by card.
std::map<std::string, PodReading> granted_to(const LocalPod& pod, const PodSources& of,
                                             const std::vector<CardReading>& cards) {
  const model::Isolation mode = pod.grant->isolation;
  std::map<std::string, PodReading> by_card;
  for (const auto& container : pod.grant->containers) {
    for (const auto& part : container.cards) {
      const bool whole = has_whole_card(part, cards);
      const Enforcement now = whole ? Enforcement{Holder::kServer, Holder::kServer, ""}
                                    : enforcement(pod, container.container, part, of);
      const auto [entry, first] = by_card.try_emplace(part.uuid);
      PodReading& reading = entry->second;
      reading.memory_limit_bytes += static_cast<std::uint64_t>(part.memory_limit.count()) << 20U;
      reading.isolation = whole ? "whole" : std::string(to_string(mode));
      // Of several containers the one that is held least.
      reading.memory_held_by = first ? now.memory : std::min(reading.memory_held_by, now.memory);
      reading.compute_held_by =
          first ? now.compute : std::min(reading.compute_held_by, now.compute);
    }
  }
  return by_card;
}

}  // namespace

std::vector<CardReading> read_cards(CardSource& source, const CardsNow& now) {
  std::vector<CardReading> readings;
  for (const InstalledCard& card : now.inventory.cards) {
    auto activity = source.activity(card.card.id);
    readings.push_back({card.card, activity ? std::optional(std::move(*activity)) : std::nullopt});
  }
  return readings;
}

std::vector<PodReading> read_pods(const PodSources& of, const std::vector<CardReading>& cards) {
  const UseByPodAndCard used = read_use(cards, of.processes);
  std::vector<PodReading> readings;
  for (const LocalPodPtr& pod : of.pods.all()) {
    if (!pod->grant) continue;
    for (auto& [card, reading] : granted_to(*pod, of, cards)) {
      const auto use = used.find({pod->pod.uid, card});
      reading.ns = pod->pod.ns;
      reading.pod = pod->pod.name;
      reading.card = card;
      reading.memory_used_bytes = use == used.end() ? 0 : use->second;
      readings.push_back(std::move(reading));
    }
  }
  return readings;
}

}  // namespace tangram::node
