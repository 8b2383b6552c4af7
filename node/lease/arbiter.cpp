#include "node/lease/arbiter.hpp"

#include <algorithm>

namespace tangram::node::lease {
namespace {

constexpr std::int64_t kMillisecond = 1'000'000;

constexpr std::int64_t kTurn = 10 * kMillisecond;  // long against the change of turns, about 0.2 ms
constexpr std::int64_t kIdleAfter = 2 * kMillisecond;
constexpr std::int64_t kCredit = 50 * kMillisecond;  // of virtual time
/// Virtual time begins anew then, far from overflow: a container without a share uses 1000 s of it
/// in each second, which takes 13 days.
constexpr std::int64_t kLatest = std::int64_t{1} << 60U;
constexpr std::int64_t kNoticed = 1 * kMillisecond;  // until a process sees that its turn is closed
/// How long work in flight is believed without a sign: by the last batch, within these.
constexpr std::int64_t kLeastPatience = 4 * kMillisecond;
constexpr std::int64_t kMostPatience = 200 * kMillisecond;
/// A limit holds over this time; half of it must be there before a turn begins.
constexpr std::int64_t kLimitWindow = 100 * kMillisecond;
constexpr std::int64_t kMostOwed = 1'000 * kMillisecond;
/// Of a turn that others waited for, what a container may say that it did not use.
constexpr std::int64_t kDoubtedPart = 8;

std::int64_t part(std::int64_t ns, MilliGpu of) { return ns * of.count() / kWholeGpu.count(); }

bool is_limited(const TimeShare& time) { return time.limit < kWholeGpu; }

std::int64_t nanoseconds(std::chrono::nanoseconds time) { return time.count(); }

std::int64_t patience(const Sight& sight) {
  return std::clamp(2 * nanoseconds(std::min<std::chrono::nanoseconds>(
                            sight.batch, std::chrono::nanoseconds(kMostPatience))),
                    kLeastPatience, kMostPatience);
}

}  // namespace

void Arbiter::set(const std::string& container, const TimeShare& time) {
  const auto [entry, added] = containers_.try_emplace(container);
  entry->second.time = time;
  if (added) entry->second.budget_ns = part(kLimitWindow, time.limit);
}

void Arbiter::remove(const std::string& container) {
  containers_.erase(container);
  if (holder_ != container) return;
  holder_.reset();
  closed_at_.reset();
}

void Arbiter::step(TimePoint now, const std::map<std::string, Sight>& sights) {
  const std::int64_t passed = last_step_ ? nanoseconds(now - *last_step_) : 0;
  for (auto& [name, container] : containers_) {
    const auto sight = sights.find(name);
    look(container, sight == sights.end() ? Sight{} : sight->second, now);
    refill(container, passed);
  }
  last_step_ = now;
  charge_time(now);
  advance_virtual_time();
  decide(now);
}

/// Notes what a container does.
void Arbiter::look(Container& container, const Sight& sight, TimePoint now) {
  const bool moved = sight.launches != container.sight.launches || sight.busy.count() > 0 ||
                     sight.waits || sight.in_flight != container.sight.in_flight;
  if (moved) container.last_sign = now;
  container.sight = sight;
  container.owed_ns =
      std::min(container.owed_ns + std::clamp(nanoseconds(sight.busy), std::int64_t{0}, kMostOwed),
               kMostOwed);
  const std::int64_t believed = sight.in_flight ? patience(sight) : kIdleAfter;
  container.active = container.last_sign && nanoseconds(now - *container.last_sign) <= believed;
}

void Arbiter::refill(Container& container, std::int64_t passed_ns) {
  if (!is_limited(container.time)) {
    container.exhausted = false;
    return;
  }
  const std::int64_t most = part(kLimitWindow, container.time.limit);
  container.budget_ns = std::min(container.budget_ns + part(passed_ns, container.time.limit), most);
}

/// @param ns  negative: a refund
void Arbiter::charge(Container& container, std::int64_t ns) {
  const std::int64_t share = std::max<std::int64_t>(container.time.share.count(), 1);
  container.virtual_ns += ns * kWholeGpu.count() / share;
  if (is_limited(container.time)) container.budget_ns -= ns;
  container.owed_ns = std::clamp(container.owed_ns - ns, -kMostOwed, kMostOwed);
}

/// The holder by the clock; the others by what was measured after their turns.
void Arbiter::charge_time(TimePoint now) {
  for (auto& [name, container] : containers_) {
    const std::int64_t passed = nanoseconds(now - container.charged_at);
    container.charged_at = now;
    if (holder_ == name) {
      charge(container, passed);
      turn_ns_ += passed;
    } else {
      charge(container, std::clamp(container.owed_ns, std::int64_t{0}, passed));
      contended_ = contended_ || container.active;
    }
    if (!is_limited(container.time)) continue;
    const std::int64_t half = part(kLimitWindow, container.time.limit) / 2;
    container.exhausted = container.budget_ns <= (container.exhausted ? half : 0);
  }
}

/// That of the queue; a container enters it there. One whose limit is reached is not in it: its
/// virtual time stands still, and would hold that of the queue.
void Arbiter::advance_virtual_time() {
  std::optional<std::int64_t> least;
  for (auto& [name, container] : containers_) {
    const bool queued = container.active && !container.exhausted;
    if (queued && !container.queued) {
      container.virtual_ns = std::max(container.virtual_ns, virtual_now_ - kCredit);
    }
    container.queued = queued;
    if (queued) least = std::min(least.value_or(container.virtual_ns), container.virtual_ns);
  }
  virtual_now_ = std::max(virtual_now_, least.value_or(virtual_now_));
  if (virtual_now_ < kLatest) return;
  for (auto& [name, container] : containers_) {
    container.virtual_ns = std::max(container.virtual_ns - virtual_now_, -kCredit);
  }
  virtual_now_ = 0;
}

/// Refunds what the holder did not use of its turn.
/// @param drained  nothing more can be measured of it
void Arbiter::settle_turn(bool drained) {
  Container& container = containers_.at(*holder_);
  const std::int64_t most = contended_ ? turn_ns_ / kDoubtedPart : turn_ns_;
  const std::int64_t pending = drained ? 0 : patience(container.sight);  // two batches
  charge(container, -std::clamp(-container.owed_ns - pending, std::int64_t{0}, most));
  // What was measured beyond the clock, in several streams at a time, is no debt.
  container.owed_ns = drained ? 0 : std::min(container.owed_ns, std::int64_t{0});
  turn_ns_ = 0;
  contended_ = false;
}

void Arbiter::begin_turn(const std::string& container, TimePoint now) {
  holder_ = container;
  containers_.at(container).charged_at = now;
  closed_at_.reset();
  turn_ns_ = 0;
  contended_ = false;
}

bool Arbiter::is_drained(const Container& container, TimePoint now) const {
  const std::int64_t closed = nanoseconds(now - *closed_at_);
  if (!container.sight.in_flight) return container.sight.waits || closed >= kNoticed;
  return closed >= patience(container.sight);
}

std::optional<std::string> Arbiter::furthest_behind() const {
  std::optional<std::string> best;
  for (const auto& [name, container] : containers_) {
    if (!container.queued) continue;
    if (!best || container.virtual_ns < containers_.at(*best).virtual_ns) best = name;
  }
  return best;
}

void Arbiter::decide(TimePoint now) {
  if (holder_) {
    const Container& container = containers_.at(*holder_);
    if (closed_at_) {
      if (!is_drained(container, now)) return;
      settle_turn(!container.sight.in_flight);
      holder_.reset();
    } else if (!container.active) {
      settle_turn(!container.sight.in_flight);
      holder_.reset();
    } else if (container.exhausted || turn_ns_ >= kTurn) {
      if (!container.exhausted && furthest_behind() == holder_) return settle_turn(false);
      closed_at_ = now;
      return;
    } else {
      return;
    }
  }
  closed_at_.reset();
  if (const auto next = furthest_behind()) begin_turn(*next, now);
}

bool Arbiter::is_open(const std::string& container) const {
  const auto found = containers_.find(container);
  if (found == containers_.end()) return true;
  if (holder_) return holder_ == container && !closed_at_;
  return !found->second.exhausted;
}

bool Arbiter::is_quiet() const {
  return std::none_of(containers_.begin(), containers_.end(),
                      [](const auto& each) { return each.second.active || each.second.exhausted; });
}

}  // namespace tangram::node::lease
