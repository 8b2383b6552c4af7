#include "node/container/memory_limiters.hpp"

#include "base/split.hpp"
#include "node/container/card_environment.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace tangram::node {
namespace {

using model::MemoryLimits;

MemoryLimits means_of(const std::string& uuid, model::Isolation mode,
                      const std::vector<model::Card>& here) {
  const auto card = std::find_if(here.begin(), here.end(),
                                 [&](const model::Card& each) { return each.id == uuid; });
  return card == here.end() ? MemoryLimits::kNone : in_mode(card->memory_limits, mode);
}

void append(ContainerEdits& to, const ContainerEdits& more) {
  to.env.insert(to.env.end(), more.env.begin(), more.env.end());
  to.mounts.insert(to.mounts.end(), more.mounts.begin(), more.mounts.end());
}

}  // namespace

Result<MemoryLimiter*> MemoryLimiters::of(MemoryLimits means) {
  const std::lock_guard lock(mutex_);
  std::unique_ptr<MemoryLimiter>& limiter = limiters_.at(static_cast<std::size_t>(means));
  if (!limiter) {
    auto made = make_(means);
    if (!made) return made.error();
    limiter = std::move(*made);
  }
  return limiter.get();
}

std::vector<MemoryLimiter*> MemoryLimiters::made() {
  const std::lock_guard lock(mutex_);
  std::vector<MemoryLimiter*> all;
  for (const auto& limiter : limiters_) {
    if (limiter) all.push_back(limiter.get());
  }
  return all;
}

Result<void> MemoryLimiters::limit(std::string_view allocation, model::Isolation mode,
                                   const std::vector<model::GrantedCard>& cards,
                                   const std::vector<model::Card>& here, CdiEdits& vendor,
                                   ContainerEdits& edits) {
  std::map<MemoryLimits, std::vector<model::GrantedCard>> by_means;
  std::string names;
  for (const model::GrantedCard& card : cards) {
    const MemoryLimits means = means_of(card.uuid, mode, here);
    by_means[means].push_back(card);
    names += (names.empty() ? "" : ",") + std::string(to_string(means));
  }
  edits.env.push_back(std::string(kMemoryLimitsVariable) + "=" + names);
  for (const auto& [means, limited] : by_means) {
    const auto limiter = of(means);
    if (!limiter) return limiter.error();
    if (*limiter == nullptr) continue;
    const auto more = (*limiter)->limit(allocation, limited, vendor);
    if (!more) return more.error();
    append(edits, *more);
  }
  return {};
}

void MemoryLimiters::resume(const StartedMeans& started) {
  std::set<MemoryLimits> all;
  for (const auto& [container, means] : started) all.insert(means);
  for (const MemoryLimits means : all) {
    if (const auto limiter = of(means); !limiter) {
      spdlog::warn("memory limits by {} of running containers are left as they are: {}",
                   to_string(means), limiter.error().message);
    }
  }
}

Result<void> MemoryLimiters::change(std::string_view allocation, MemoryLimits means,
                                    const std::vector<model::GrantedCard>& cards) {
  const auto limiter = of(means);
  if (!limiter) return limiter.error();
  if (*limiter != nullptr) return (*limiter)->change(allocation, cards);
  return fail(Errc::kInvalidArgument, "nothing changes limits by " + std::string(to_string(means)));
}

Result<std::uint64_t> MemoryLimiters::in_use(std::string_view allocation, MemoryLimits means,
                                             std::string_view card) {
  const auto limiter = of(means);
  if (!limiter) return limiter.error();
  if (*limiter != nullptr) return (*limiter)->in_use(allocation, card);
  return fail(Errc::kNotFound, "nothing counts memory by " + std::string(to_string(means)));
}

void MemoryLimiters::keep(const std::vector<CardClaim>& claims) {
  std::set<std::string, std::less<>> allocations;
  for (const CardClaim& claim : claims) {
    allocations.insert(claim.allocations.begin(), claim.allocations.end());
  }
  for (MemoryLimiter* const limiter : made()) limiter->keep(allocations);
}

Result<std::string> MemoryLimiters::way_past(MemoryLimits means, std::int64_t pid) {
  const auto limiter = of(means);
  if (!limiter) return limiter.error();
  return *limiter == nullptr ? std::string() : (*limiter)->way_past(pid);
}

void MemoryLimiters::note_use(const std::vector<std::string>& allocations,
                              const MemoryByCard& used) {
  for (MemoryLimiter* const limiter : made()) {
    for (const std::string& allocation : allocations) limiter->note_use(allocation, used);
  }
}

std::shared_ptr<AllocationPages> MemoryLimiters::pages(std::string_view allocation) {
  for (MemoryLimiter* const limiter : made()) {
    if (auto pages = limiter->pages(allocation)) return pages;
  }
  return nullptr;
}

StartedMeans started_means(const std::vector<JournalEntry>& journal) {
  StartedMeans started;
  for (const JournalEntry& entry : journal) {
    if (!entry.claim || entry.claim->spec.empty()) continue;
    const auto cards = split(variable_in(entry.claim->spec, kCardsVariable), ',');
    const auto means = split(variable_in(entry.claim->spec, kMemoryLimitsVariable), ',');
    if (cards.size() != means.size()) continue;  // of an earlier agent
    for (std::size_t i = 0; i < cards.size(); ++i) {
      const auto known = model::parse_memory_limits(means[i]);
      if (!known) continue;
      started[{entry.claim->pod_uid, entry.claim->container, std::string(cards[i])}] = *known;
    }
  }
  return started;
}

}  // namespace tangram::node
