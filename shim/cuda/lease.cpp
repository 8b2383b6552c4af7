#include "shim/cuda/lease.hpp"

#include "shim/cuda/cards.hpp"
#include "shim/cuda/driver.hpp"
#include "shim/futex.hpp"
#include "shim/mutex.hpp"
#include "shim/patience.hpp"
#include "shim/process.hpp"

#include <array>

namespace tangram::shim::cuda {
namespace {

/// Mostly of one stream each: more streams that work at a time share them.
constexpr std::size_t kGroups = 16;

/// The card of a context: its pointer << 8 | card + 1. Two contexts may displace each other.
constexpr std::size_t kContexts = 16;

struct Lease {
  Mutex mutex;  ///< of starting it
  LeasePages pages;
  bool one_card = false;
  std::array<std::array<Batches, kGroups>, kMaxCards> batches;
  std::array<std::atomic<std::uint64_t>, kContexts> contexts{};
  /// By card, the heartbeat at which the agent was given up, plus 2^32; 0 = it is alive.
  std::array<std::atomic<std::uint64_t>, kMaxCards> agent_gone{};
};
constinit Lease lease;
constinit std::atomic<std::uint32_t> none{0};

/// Has the process pages? Then it may have batches.
bool is_started() { return leases.load(std::memory_order_acquire) != &none; }

std::size_t hash_of(std::uint64_t number) {
  constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15U;  // spreads what is aligned
  return number * kOdd >> 32U;
}
/// The place where the card of a context is known.
std::atomic<std::uint64_t>& known_of(CUcontext context) {
  return lease.contexts[hash_of(reinterpret_cast<std::uint64_t>(context)) % kContexts];
}

/// Of the current context; kNoCard = none that is leased.
std::size_t current_card() {
  if (lease.one_card) return 0;
  CUcontext context = nullptr;
  if (driver::cuCtxGetCurrent(&context) != CUDA_SUCCESS || context == nullptr) return kNoCard;
  constexpr unsigned kCardBits = 8;
  const std::uint64_t key = reinterpret_cast<std::uint64_t>(context) << kCardBits;
  std::atomic<std::uint64_t>& known = known_of(context);
  std::uint64_t entry = known.load(std::memory_order_relaxed);
  if (entry >> kCardBits != key >> kCardBits) {
    const std::size_t card = current_place().card;
    if (card == kUnknownCard) return kNoCard;
    entry = key | (card + 1);
    known.store(entry, std::memory_order_relaxed);
  }
  const std::size_t card = (entry & 0xffU) - 1;
  return card < kMaxCards ? card : kNoCard;
}

const CardLimit& limit_of(std::size_t card) { return lease.pages.limits->cards[card]; }
Account& account_of(std::size_t card) {
  return lease.pages.usage->slots[lease.pages.slot].accounts[card];
}
std::uint32_t heartbeat_of(std::size_t card) {
  return limit_of(card).heartbeat.load(std::memory_order_relaxed);
}

/// The group that a stream has, or else the next idle one.
Batches& batches_of(std::size_t card, std::uint64_t key) {
  auto& groups = lease.batches[card];
  const std::size_t first = hash_of(key);
  for (std::size_t i = 0; i < kGroups; ++i) {
    Batches& group = groups[(first + i) % kGroups];
    if (group.is_of(key)) return group;
  }
  for (std::size_t i = 0; i < kGroups; ++i) {
    Batches& group = groups[(first + i) % kGroups];
    if (group.is_idle()) return group;
  }
  return groups[first % kGroups];
}

/// Is the thread in a launch already? Then a tool launches that the driver has called back.
bool is_nested() {
  for (std::size_t card = 0; card < lease.pages.limits->card_count; ++card) {
    for (Batches& batches : lease.batches[card]) {
      if (batches.mutex().is_mine()) return true;
    }
  }
  return false;
}

void tell_agent(std::size_t card) {
  std::atomic<std::uint32_t>& news = lease.pages.usage->totals[card].lease_news;
  news.fetch_add(1, std::memory_order_release);
  wake_all(news);
}

bool has_work(std::size_t card) {
  for (const Batches& batches : lease.batches[card]) {
    if (!batches.is_idle()) return true;
  }
  return false;
}

/// What has ended of all streams but those in which a thread launches now: the driver may hold it
/// up.
/// @param waited  the stream that was waited for; null = any
void settle(std::size_t card, const Work* waited) {
  const Uncancelled uncancelled;
  for (Batches& batches : lease.batches[card]) {
    if (batches.is_idle() || !batches.mutex().try_lock()) continue;
    if (waited == nullptr || batches.is_of(key_of(*waited))) {
      batches.end_waited(account_of(card), heartbeat_of(card));
    }
    batches.settle(account_of(card), false);
    batches.mutex().unlock();
  }
}

/// Does something with each group in which there is work, one after the other. A group whose thread
/// the driver holds up is left out after half a second: that thread may wait for this one's launch.
template <class Do>
void for_each_busy(std::size_t card, Do&& act) {
  const Uncancelled uncancelled;
  for (Batches& batches : lease.batches[card]) {
    if (batches.is_idle()) continue;
    if (!try_for_half_a_second([&] { return batches.mutex().try_lock(); })) continue;
    act(batches);
    batches.mutex().unlock();
  }
}

/// Waits until all work has ended.
void drain(std::size_t card, const Work& here) {
  Account& account = account_of(card);
  for_each_busy(card, [&](Batches& batches) { batches.end(&here, account, heartbeat_of(card)); });
  for_each_busy(card, [&](Batches& batches) { batches.settle(account, true); });
}

bool is_closed(std::size_t card) {
  return limit_of(card).turn.load(std::memory_order_acquire) == kTurnClosed;
}

bool is_given_up(std::size_t card) {
  const std::uint64_t gone = lease.agent_gone[card].load(std::memory_order_relaxed);
  return gone != 0 && static_cast<std::uint32_t>(gone) ==
                          limit_of(card).heartbeat.load(std::memory_order_relaxed);
}

/// Sleeps until the turn is open, or the agent has given no sign for two seconds.
void sleep_until_open(std::size_t card) {
  constexpr unsigned kWaitMs = 100;
  constexpr unsigned kMostSilentWaits = 20;
  std::uint32_t heard = limit_of(card).heartbeat.load(std::memory_order_relaxed);
  for (unsigned silent = 0; is_closed(card);) {
    if (!wait_while(limit_of(card).turn, kTurnClosed, kWaitMs)) continue;
    const std::uint32_t now = limit_of(card).heartbeat.load(std::memory_order_relaxed);
    silent = now == heard ? silent + 1 : 0;
    heard = now;
    if (silent < kMostSilentWaits) continue;
    lease.agent_gone[card].store((std::uint64_t{1} << 32U) | now, std::memory_order_relaxed);
    return;
  }
}

void wait_for_turn(std::size_t card, const Work& work) {
  if (!is_closed(card) || is_given_up(card)) return;
  Account& account = account_of(card);
  drain(card, work);  // only then the card is free for the others
  account.waiting.fetch_add(1, std::memory_order_release);
  tell_agent(card);
  sleep_until_open(card);
  account.waiting.fetch_sub(1, std::memory_order_release);
}

}  // namespace

constinit std::atomic<const std::atomic<std::uint32_t>*> leases{&none};

void start_lease() {
  const Lock lock(lease.mutex);
  if (lease.pages.limits != nullptr) return;
  lease.pages = lease_pages();
  if (lease.pages.usage == nullptr) return;
  lease.one_card = lease.pages.limits->card_count == 1;
  leases.store(&lease.pages.limits->leases, std::memory_order_release);
}

void forget_lease() {
  leases.store(&none, std::memory_order_relaxed);
  lease.mutex.reset();
  lease.pages = {};
  for (auto& card : lease.batches) {
    for (Batches& batches : card) batches.forget_after_fork();
  }
  for (auto& context : lease.contexts) context.store(0, std::memory_order_relaxed);
}

/// Also while no card's time is leased: it may have been before, and may be again, with another
/// context of the same handle.
void leave_context(CUcontext context) {
  if (!is_started() || context == nullptr) return;
  known_of(context).store(0, std::memory_order_relaxed);
  for (std::size_t card = 0; card < lease.pages.limits->card_count; ++card) {
    for (Batches& batches : lease.batches[card]) {
      const OwnedLock lock(batches.mutex());
      batches.forget(context, account_of(card));
    }
  }
}

/// Also while no card's time is leased, as above.
void leave_stream(CUstream stream) {
  if (!is_started()) return;
  const std::uint64_t key = key_of({.stream = stream});
  const CaptureGuard guard;
  for (std::size_t card = 0; card < lease.pages.limits->card_count; ++card) {
    for (Batches& batches : lease.batches[card]) {
      if (batches.is_idle()) continue;
      const OwnedLock lock(batches.mutex());
      batches.leave(key, account_of(card), heartbeat_of(card));
    }
  }
}

void settle_lease(const Work* waited) {
  if (!is_leased()) return;
  for (std::size_t card = 0; card < lease.pages.limits->card_count; ++card) {
    if (!has_work(card)) continue;
    const CaptureGuard guard;
    settle(card, waited);
    const bool in_flight = account_of(card).in_flight.load(std::memory_order_relaxed) != 0;
    if (is_closed(card) && !in_flight) tell_agent(card);
  }
}

bool passes_at_once(const Work& work) {
  const std::size_t card = current_card();
  if (card == kNoCard) return true;
  const CardLimit& limit = limit_of(card);
  const std::uint32_t turn = limit.turn.load(std::memory_order_relaxed);
  if (turn == kTurnFree) return true;
  if (turn != kTurnOpen || work.is_graph) return false;
  const std::uint64_t key = key_of(work);
  return batches_of(card, key).take_place(key, limit.heartbeat.load(std::memory_order_relaxed));
}

SlowLaunch::SlowLaunch(const Work& work) : work_(work) {
  const std::size_t card = current_card();
  if (card == kNoCard || is_nested() || is_captured(work)) return;
  const CaptureGuard guard;
  wait_for_turn(card, work);
  account_ = &account_of(card);
  batches_ = &batches_of(card, key_of(work));
  batches_->mutex().lock();
  heartbeat_ = heartbeat_of(card);
  ends_batch_ = batches_->begin(work, *account_, heartbeat_);
}

SlowLaunch::~SlowLaunch() {
  if (batches_ == nullptr) return;
  if (ends_batch_) {
    const CaptureGuard guard;
    batches_->end(&work_, *account_, heartbeat_);
  }
  batches_->mutex().unlock();
}

}  // namespace tangram::shim::cuda
