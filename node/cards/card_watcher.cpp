#include "node/cards/card_watcher.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>

namespace tangram::node {

namespace {

/// Between two polls, however many faults are reported: an application can cause any number.
constexpr std::chrono::seconds kBreath{1};

std::string_view name(Fault::Kind kind) {
  switch (kind) {
    case Fault::Kind::kXid:
      return "XID";
    case Fault::Kind::kEcc:
      return "uncorrectable memory error";
    case Fault::Kind::kLost:
      return "lost";
  }
  return {};
}

InstalledCard from_before(const model::Card& card) {
  InstalledCard installed;
  installed.card = card;
  // Cordons and faults are judged anew.
  installed.card.healthy = true;
  installed.card.cordoned = false;
  installed.card.unavailable_reason.clear();
  installed.total = card.memory;
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
    known_.inventory.cards.push_back(from_before(card));
    first.inventory.cards.push_back(known_.inventory.cards.back());
    first.inventory.cards.back().card.healthy = false;
    first.inventory.cards.back().card.unavailable_reason = kDriverSilent;
  }
  now_ = std::make_shared<const CardsNow>(std::move(first));
}

void CardWatcher::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) step(stop);
}

void CardWatcher::step(const std::stop_token& stop) {
  if (!next_poll_ || clock_.now() >= *next_poll_) {
    ask();
    last_poll_ = clock_.now();
    next_poll_ = *last_poll_ + options_.poll;
  }
  // Holds end by time, without a word from the source.
  publish();
  const auto until_poll = std::chrono::ceil<std::chrono::milliseconds>(*next_poll_ - clock_.now());
  const auto faults = source_.wait_for_faults(std::min(options_.wait, until_poll));
  if (!faults) {
    // It says so at once; whether that is still so is asked after the time it would have waited.
    sleeper_(options_.wait, stop);
    next_poll_.reset();
  } else if (!faults->empty()) {
    take(*faults);
    publish();  // before asking: a driver in trouble may take long to answer
    next_poll_ = std::max(clock_.now(), *last_poll_ + kBreath);
  }
}

void CardWatcher::ask() {
  auto found = source_.inventory();
  const std::lock_guard lock(mutex_);
  if (found) {
    adopt(std::move(*found));
  } else {
    if (known_.answers || !told_) spdlog::error("cards: {}", found.error().message);
    health_.on_silence();
    known_.answers = false;
  }
}

void CardWatcher::adopt(Inventory found) {
  std::set<std::string> listed;
  for (const InstalledCard& card : found.cards) listed.insert(card.card.id);
  std::set<std::string> lost;
  for (InstalledCard& card : known_.inventory.cards) {
    const std::string id = card.card.id;
    if (listed.count(id) != 0) continue;
    if (lost_.count(id) == 0) spdlog::error("card {} is not listed any more", id);
    lost.insert(id);
    found.cards.push_back(std::move(card));
  }
  health_.on_listed(listed, clock_.now());
  lost_ = std::move(lost);
  known_ = {std::move(found), true};
}

void CardWatcher::take(const std::vector<Fault>& faults) {
  const std::lock_guard lock(mutex_);
  for (const Fault& fault : faults) {
    spdlog::error("card {}: {} {}", fault.card.empty() ? "(all)" : fault.card, name(fault.kind),
                  fault.kind == Fault::Kind::kXid ? std::to_string(fault.code) : "");
    if (fault.kind == Fault::Kind::kXid) ++xids_[{fault.card, fault.code}];
    health_.on_fault(fault, clock_.now());
  }
}

void CardWatcher::publish() {
  CardsNow judged;
  {
    const std::lock_guard lock(mutex_);
    judged = known_;
    for (InstalledCard& card : judged.inventory.cards) {
      const std::string_view trouble = health_.trouble(card.card.id, clock_.now());
      if (trouble.empty()) continue;
      card.card.healthy = false;
      card.card.unavailable_reason = trouble;
    }
    const bool same = judged.inventory == now_->inventory && judged.answers == now_->answers;
    if (same && told_) return;
    now_ = std::make_shared<const CardsNow>(std::move(judged));
  }
  told_ = true;
  if (on_change_) on_change_();
}

CardsPtr CardWatcher::now() const {
  const std::lock_guard lock(mutex_);
  return now_;
}

CardWatcher::XidCounts CardWatcher::xid_counts() const {
  const std::lock_guard lock(mutex_);
  return xids_;
}

void CardWatcher::forget_lost(const std::set<std::string>& granted) {
  const std::lock_guard lock(mutex_);
  auto& cards = known_.inventory.cards;
  const auto dropped = [&](const InstalledCard& card) {
    return lost_.count(card.card.id) != 0 && granted.count(card.card.id) == 0;
  };
  for (const InstalledCard& card : cards) {
    if (!dropped(card)) continue;
    spdlog::info("card {} is gone and nobody holds it: forgotten", card.card.id);
  }
  cards.erase(std::remove_if(cards.begin(), cards.end(), dropped), cards.end());
}

}  // namespace tangram::node
