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
Enforcement enforcement(const CardClaim& claim, const model::GrantedCard& part,
                        const PodSources& of) {
  Enforcement now = of.enforcers.of(claim.isolation).enforcement(part);
  const ContainerOnCard key{claim.pod_uid, claim.container.container, part.uuid};
  const auto means = of.started.find(key);
  if (means != of.started.end() && means->second >= model::MemoryLimits::kLibrary) {
    now.memory = Holder::kServer;
  }
  if (of.leased.contains(key)) now.compute = Holder::kServer;
  return now;
}

/// Adds a container's part of a card to what its pod has of it.
void add_part(PodReading& reading, bool first, const CardClaim& claim,
              const model::GrantedCard& part, bool whole, const Enforcement& now) {
  reading.ns = claim.ns;
  reading.pod = claim.pod;
  reading.card = part.uuid;
  reading.memory_limit_bytes += static_cast<std::uint64_t>(part.memory_limit.count()) << 20U;
  reading.isolation = whole ? "whole" : std::string(to_string(claim.isolation));
  // Of several containers the one that is held least.
  reading.memory_held_by = first ? now.memory : std::min(reading.memory_held_by, now.memory);
  reading.compute_held_by = first ? now.compute : std::min(reading.compute_held_by, now.compute);
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
  std::map<std::pair<std::string, std::string>, PodReading> by_pod;  // UID, card
  for (const CardClaim& claim : of.claims) {
    for (const model::GrantedCard& part : claim.container.cards) {
      const bool whole = has_whole_card(part, cards);
      const Enforcement now =
          whole ? Enforcement{Holder::kServer, Holder::kServer, ""} : enforcement(claim, part, of);
      const auto [entry, first] = by_pod.try_emplace({claim.pod_uid, part.uuid});
      add_part(entry->second, first, claim, part, whole, now);
    }
  }
  const UseByPodAndCard used = read_use(cards, of.processes);
  std::vector<PodReading> readings;
  for (auto& [key, reading] : by_pod) {
    const auto use = used.find(key);
    reading.memory_used_bytes = use == used.end() ? 0 : use->second;
    readings.push_back(std::move(reading));
  }
  return readings;
}

}  // namespace tangram::node
