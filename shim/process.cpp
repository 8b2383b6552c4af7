#include "shim/process.hpp"

#include "shim/accounts.hpp"
#include "shim/log.hpp"
#include "shim/mutex.hpp"
#include "shim/page_files.hpp"

#include <pthread.h>
#include <unistd.h>

#include <cstdlib>

namespace tangram::shim {
namespace {

enum class State : std::uint8_t { kClosed, kOpen, kFailed };

/// Of this process. Zero before attach(): it needs no constructor.
struct Process {
  Mutex mutex;  ///< of all below but `state`, and of the slot
  std::atomic<State> state{State::kClosed};
  const LimitsPage* limits = nullptr;
  UsageFile usage;
  std::size_t slot = 0;
  bool watches_forks = false;
  void (*in_child)() = nullptr;
};
constinit Process own;

void before_fork() { own.mutex.lock(); }
void after_fork() { own.mutex.unlock(); }
/// The parent's slot stays the parent's. The limits' mapping is kept: it is the same file.
void in_child_after_fork() {
  own.mutex.reset();
  close_usage(own.usage);
  own.state.store(State::kClosed, std::memory_order_relaxed);
  if (own.in_child != nullptr) own.in_child();
}

/// Takes a free slot, and gives back what a dead process has left there.
bool take_slot() {
  const pid_t pid = getpid();
  const auto first =
      static_cast<std::size_t>(pid) % kMaxProcesses;  // so that few processes collide
  for (std::size_t tried = 0; tried < kMaxProcesses; ++tried) {
    const std::size_t slot = (first + tried) % kMaxProcesses;
    if (!lock_slot(own.usage, slot)) continue;
    own.usage.page->taken[slot].store(1, std::memory_order_release);
    SlotAccounts(*own.usage.page, slot).recover();
    own.usage.page->slots[slot].pid.store(pid, std::memory_order_relaxed);
    own.slot = slot;
    return true;
  }
  return false;
}

bool open_pages() {
  if (own.limits == nullptr) own.limits = map_limits(kLimitsPath.data());
  if (own.limits == nullptr) {
    log_line({"cannot read ", kLimitsPath,
              ", so no card can be used; is the container from a pod "
              "that Tangram has bound?"});
    return false;
  }
  own.usage = open_usage(kUsagePath.data());
  if (own.usage.page == nullptr) {
    log_line({"cannot open ", kUsagePath,
              " to account memory, so no card can be used; its mount "
              "must be writable for the container's user"});
    return false;
  }
  if (take_slot()) return true;
  close_usage(own.usage);
  log_line({"all ", kMaxProcesses,
            " places for processes that use cards in this container are "
            "taken; end some of them"});
  return false;
}

SlotAccounts accounts() { return {*own.usage.page, own.slot}; }

}  // namespace

bool attach() {
  const State state = own.state.load(std::memory_order_acquire);
  if (state != State::kClosed) return state == State::kOpen;
  const Lock lock(own.mutex);
  if (own.state.load(std::memory_order_relaxed) == State::kClosed) {
    if (!own.watches_forks) {
      own.watches_forks = pthread_atfork(before_fork, after_fork, in_child_after_fork) == 0;
    }
    const bool opened = own.watches_forks && open_pages();
    own.state.store(opened ? State::kOpen : State::kFailed, std::memory_order_release);
  }
  return own.state.load(std::memory_order_relaxed) == State::kOpen;
}

std::size_t find_card(const Uuid& uuid) {
  for (std::size_t card = 0; card < own.limits->card_count; ++card) {
    if (own.limits->cards[card].uuid == uuid) return card;
  }
  return kNoCard;
}

bool reserve(std::size_t card, std::uint64_t bytes) {
  const Lock lock(own.mutex);
  if (own.usage.page == nullptr) return false;
  const CardLimit& limit = own.limits->cards[card];
  if (accounts().add(card, bytes, accountable_bytes(limit))) return true;
  return recover_dead(own.usage, own.slot) > 0 &&
         accounts().add(card, bytes, accountable_bytes(limit));
}

void reserve_anyway(std::size_t card, std::uint64_t bytes) {
  const Lock lock(own.mutex);
  if (own.usage.page != nullptr) (void)accounts().add(card, bytes, kNoLimit);
}

void release(std::size_t card, std::uint64_t bytes) {
  const Lock lock(own.mutex);
  if (own.usage.page != nullptr) accounts().subtract(card, bytes);
}

CardMemory memory_of(std::size_t card) {
  const Lock lock(own.mutex);
  if (own.usage.page == nullptr) return {};
  (void)recover_dead(own.usage, own.slot);
  const CardLimit& limit = own.limits->cards[card];
  return {limit.memory_bytes.load(std::memory_order_relaxed),
          available_bytes(limit, own.usage.page->totals[card])};
}

void on_fork(void (*in_child)()) { own.in_child = in_child; }

void log_refusal(const char* call, std::size_t card, std::uint64_t bytes) {
  if (getenv("TANGRAM_LOG") == nullptr) return;
  const CardMemory memory = memory_of(card);
  log_line({call, "() of ", bytes, " bytes is refused: the limit of card ", card, " is ",
            memory.limit >> 20U, " MiB, of which ", memory.available >> 20U, " MiB are free"});
}

}  // namespace tangram::shim
