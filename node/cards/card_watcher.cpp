#include "node/cards/card_watcher.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>

namespace tangram::node {

namespace {

/// Between two polls, however many faults are reported: applications can cause any number.
constexpr std::chrono::seconds kMinPollInterval{1};

/// "XID 79"
std::string describe(const Fault& fault, std::string_view error_name) {
  switch (fault.kind) {
    case Fault::Kind::kDriverError:
      return std::string(error_name) + " " + std::to_string(fault.code);
    case Fault::Kind::kEcc:
      return "uncorrectable memory error";
    case Fault::Kind::kLost:
      return "lost";
  }
  return {};
}

InstalledCard from_before(const model::Card& card, std::optional<model::MemoryLimits> most) {
  InstalledCard installed;
  installed.card = card;
  // Cordons and faults are determined anew.
  installed.card.healthy = true;
  installed.card.cordoned = false;
  installed.card.unavailable_reason.clear();
  installed.total = card.memory;
  installed.memory_means = {card.memory_limits};
  installed.card.memory_limits = strongest(installed.memory_means, most);
  return installed;
}

}  // namespace

CardWatcher::CardWatcher(CardSource& source, CardWatcherOptions options, const Clock& clock,
                         std::function<void()> on_change, Sleeper sleeper)
    : source_(source),
      options_(std::move(options)),
      clock_(clock),
      on_change_(std::move(on_change)),
      sleeper_(std::move(sleeper)),
      health_(options_.health, options_.previous, clock.now()) {
  CardsNow first;
  for (const model::Card& card : options_.previous) {
    known_.inventory.cards.push_back(from_before(card, options_.memory_limits));
    first.inventory.cards.push_back(known_.inventory.cards.back());
    first.inventory.cards.back().card.healthy = false;
    first.inventory.cards.back().card.unavailable_reason = kDriverNotAnswering;
  }
  now_ = std::make_shared<const CardsNow>(std::move(first));
}

void CardWatcher::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) step(stop);
}

void CardWatcher::step(const std::stop_token& stop) {
  if (!next_poll_ || clock_.now() >= *next_poll_) {
    poll();
    last_poll_ = clock_.now();
    next_poll_ = *last_poll_ + options_.poll;
  }
  // Cards become healthy by time, without an answer of the source.
  publish();
  const auto until_poll = std::chrono::ceil<std::chrono::milliseconds>(*next_poll_ - clock_.now());
  const auto faults = source_.wait_for_faults(std::min(options_.wait, until_poll));
  if (!faults) {
    // The error came at once: asks again after the time that the wait would have taken.
    sleeper_(options_.wait, stop);
    next_poll_.reset();
  } else if (!faults->empty()) {
    take(*faults);
    publish();  // before the next poll: a faulty driver may take long to answer
    next_poll_ = std::max(clock_.now(), *last_poll_ + kMinPollInterval);
  }
}

void CardWatcher::poll() {
  auto found = source_.inventory();
  const std::lock_guard lock(mutex_);
  if (found) {
    adopt(std::move(*found));
  } else {
    if (known_.answers || !reported_) spdlog::error("cards: {}", found.error().message);
    health_.on_no_answer();
    known_.answers = false;
  }
}

void CardWatcher::adopt(Inventory found) {
  std::set<std::string> listed;
  for (InstalledCard& card : found.cards) {
    listed.insert(card.card.id);
    choose_memory_limits(card);
  }
  std::set<std::string> lost;
  for (InstalledCard& card : known_.inventory.cards) {
    const std::string id = card.card.id;
    if (listed.contains(id)) continue;
    if (!lost_.contains(id)) spdlog::error("card {} is not listed any more", id);
    lost.insert(id);
    found.cards.push_back(std::move(card));
  }
  health_.on_listed(listed, clock_.now());
  lost_ = std::move(lost);
  known_ = {std::move(found), true};
}

/// Not an error: what a means needs may be installed later, as by a driver container, and until
/// then the containers of running pods must be able to start again. Pods that need more say so.
void CardWatcher::choose_memory_limits(InstalledCard& card) {
  const auto most = options_.memory_limits;
  const model::MemoryLimits chosen = strongest(card.memory_means, most);
  card.card.memory_limits = chosen;
  if (!most || chosen == *most) {
    weaker_.erase(card.card.id);
    return;
  }
  const auto reported = weaker_.find(card.card.id);
  if (reported != weaker_.end() && reported->second == chosen) return;
  weaker_.insert_or_assign(card.card.id, chosen);
  spdlog::warn(
      "card {}: --memory-limits is {}, which this machine does not offer on the card, so {} is "
      "used; install what {} needs (docs/node.md, \"Memory limits\"), or set "
      "--memory-limits=auto",
      card.card.id, to_string(*most), to_string(chosen), to_string(*most));
}

void CardWatcher::take(const std::vector<Fault>& faults) {
  const std::lock_guard lock(mutex_);
  for (const Fault& fault : faults) {
    spdlog::error("card {}: {}", fault.card.empty() ? "(all)" : fault.card,
                  describe(fault, options_.health.error_name));
    if (fault.kind == Fault::Kind::kDriverError) ++errors_[{fault.card, fault.code}];
    health_.on_fault(fault, clock_.now());
  }
}

void CardWatcher::publish() {
  CardsNow current;
  {
    const std::lock_guard lock(mutex_);
    current = known_;
    for (InstalledCard& card : current.inventory.cards) {
      const std::string_view reason = health_.unhealthy_reason(card.card.id, clock_.now());
      if (reason.empty()) continue;
      card.card.healthy = false;
      card.card.unavailable_reason = reason;
    }
    const bool same = current.inventory == now_->inventory && current.answers == now_->answers;
    if (same && reported_) return;
    now_ = std::make_shared<const CardsNow>(std::move(current));
  }
  reported_ = true;
  if (on_change_) on_change_();
}

CardsPtr CardWatcher::now() const {
  const std::lock_guard lock(mutex_);
  return now_;
}

CardWatcher::ErrorCounts CardWatcher::error_counts() const {
  const std::lock_guard lock(mutex_);
  return errors_;
}

void CardWatcher::forget_lost(const std::set<std::string>& granted) {
  const std::lock_guard lock(mutex_);
  auto& cards = known_.inventory.cards;
  const auto forgotten = [&](const InstalledCard& card) {
    return lost_.contains(card.card.id) && !granted.contains(card.card.id);
  };
  for (const InstalledCard& card : cards) {
    if (!forgotten(card)) continue;
    spdlog::info("card {} is gone and granted to no pod: forgotten", card.card.id);
  }
  std::erase_if(cards, forgotten);
}

}  // namespace tangram::node
