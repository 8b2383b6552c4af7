#include "node/resize/resize_check.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace tangram::node {
namespace {

using model::GrantedCard;
using model::MemoryLimits;

const model::ContainerGrant* part_of(const model::Grant& grant, std::string_view container) {
  const auto found =
      std::ranges::find(grant.containers, container, &model::ContainerGrant::container);
  return found == grant.containers.end() ? nullptr : &*found;
}

std::optional<MemoryLimits> means_of(const StartedMeans& started, const Claim& claim,
                                     const std::string& card) {
  const auto found = started.find({claim.pod_uid, claim.container, card});
  return found == started.end() ? std::nullopt : std::optional(found->second);
}

/// MPS limits a process as it starts. Earlier agents, which did not note the boot either, did not
/// have it noted which control group the driver limits.
bool changes_while_running(MemoryLimits means, const Claim& claim) {
  return means == MemoryLimits::kLibrary || (means == MemoryLimits::kDriver && !claim.boot.empty());
}

std::string at_start_only(const std::string& what) {
  return what +
         " when the container starts, so it cannot be resized while it runs; create the pod again "
         "with the new request";
}

std::optional<std::string> memory_cannot_change(const CardChange& card, model::Isolation mode) {
  if (card.means == MemoryLimits::kNone) return std::nullopt;
  if (card.changeable && mode == model::Isolation::kMps && !card.lowers_memory()) {
    return at_start_only("MPS sets a memory limit beside that by " +
                         std::string(to_string(*card.means)));
  }
  if (card.changeable) return std::nullopt;
  if (!card.means || *card.means == MemoryLimits::kDriver) {
    return at_start_only("an earlier version of the agent set the memory limit");
  }
  return at_start_only("the memory limit of card " + card.now.uuid + " by " +
                       std::string(to_string(*card.means)) + " is set");
}

}  // namespace

CardsByMeans changeable_cards(const JournalEntry& entry) {
  CardsByMeans cards;
  if (!entry.claim) return cards;
  const auto grant = model::decode_grant(entry.claim->grant);
  const auto* const part = grant ? part_of(*grant, entry.claim->container) : nullptr;
  if (part == nullptr) return cards;
  const StartedMeans started = started_means({entry});
  for (const GrantedCard& card : part->cards) {
    const auto means = means_of(started, *entry.claim, card.uuid);
    if (means && changes_while_running(*means, *entry.claim)) cards[*means].push_back(card);
  }
  return cards;
}

CardsByMeans lowered_cards(const Resize& resize) {
  CardsByMeans cards;
  for (const CardChange& card : resize.cards) {
    if (card.sets_memory() && card.lowers_memory()) cards[*card.means].push_back(card.wanted);
  }
  return cards;
}

bool vouched_no_weaker(const std::string& later, const std::string& earlier,
                       const model::SignatureCheck& check) {
  if (!check || check(earlier).key == model::kUnsigned) return true;
  return model::is_known_key(check(later).key);
}

std::optional<Resize> resize_of(const JournalEntry& entry, const LocalPodPtr& pod) {
  if (!entry.claim || !pod || !pod->grant) return std::nullopt;
  const auto claimed = model::decode_grant(entry.claim->grant);
  if (!claimed || !revises(*pod->grant, *claimed)) return std::nullopt;
  const auto* const now = part_of(*claimed, entry.claim->container);
  const auto* const wanted = part_of(*pod->grant, entry.claim->container);
  if (now == nullptr || wanted == nullptr) return std::nullopt;
  Resize resize{.allocation = entry.name,
                .claim = *entry.claim,
                .pod = pod,
                .wanted = *wanted,
                .cards = {},
                .started = !entry.claim->spec.empty()};
  const StartedMeans started = started_means({entry});
  for (std::size_t i = 0; i < now->cards.size(); ++i) {
    const auto means = means_of(started, *entry.claim, now->cards[i].uuid);
    resize.cards.push_back(
        {.now = now->cards[i],
         .wanted = wanted->cards[i],
         .means = means,
         .changeable = means.has_value() && changes_while_running(*means, *entry.claim)});
  }
  return resize;
}

std::optional<std::string> cannot_change(const Resize& resize) {
  if (!resize.started) return std::nullopt;
  for (const CardChange& card : resize.cards) {
    const bool compute = card.now.compute_limit != card.wanted.compute_limit;
    if (compute && resize.isolation() == model::Isolation::kMps) {
      return at_start_only("MPS sets the compute limit");
    }
    if (card.now.memory_limit == card.wanted.memory_limit) continue;
    if (auto why = memory_cannot_change(card, resize.isolation())) return why;
  }
  return std::nullopt;
}

bool grows(const Resize& resize) {
  return std::ranges::any_of(resize.cards, [](const CardChange& card) {
    return card.wanted.memory > card.now.memory || card.wanted.compute > card.now.compute;
  });
}

std::vector<CardClaim> with_wanted(std::vector<CardClaim> claims,
                                   const std::vector<Resize>& resizes) {
  for (CardClaim& claim : claims) {
    for (const Resize& resize : resizes) {
      if (claim.pod_uid == resize.claim.pod_uid &&
          claim.container.container == resize.claim.container) {
        claim.container = resize.wanted;
      }
    }
  }
  return claims;
}

std::string describe_wanted(const Resize& resize) {
  std::string text = resize.claim.container + ":";
  for (const GrantedCard& card : resize.wanted.cards) {
    text += (text.ends_with(':') ? " " : ", ") + to_string(card.memory) + " and " +
            to_string(card.compute) + " of " + card.uuid;
  }
  return text;
}

}  // namespace tangram::node
