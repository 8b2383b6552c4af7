#include "shim/process.hpp"

#include "shim/accounts.hpp"
#include "shim/log.hpp"
#include "shim/mutex.hpp"
#include "shim/page_files.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

namespace tangram::shim {
namespace {

enum class State : std::uint8_t { kClosed, kOpen, kFailed };

/// Of this process. Zero before attach(): it needs no constructor.
struct Process {
  Mutex mutex;  ///< of all below but `state`, and of the slot
  std::atomic<State> state{State::kClosed};
  const LimitsPage* limits = nullptr;
  /// Without its file: a daemon closes all files that it inherits, and the lock of the slot must
  /// not go with them. The mapping keeps it.
  UsagePage* usage = nullptr;
  std::size_t slot = 0;
  bool watches_forks = false;
  bool has_said_why = false;  ///< it cannot be opened for now
  void (*in_child)() = nullptr;
};
constinit Process own;

void before_fork() { own.mutex.lock(); }
void after_fork() { own.mutex.unlock(); }
/// The parent's slot stays the parent's. The limits' mapping is kept: it is the same file.
void in_child_after_fork() {
  own.mutex.reset();
  UsageFile inherited{.fd = -1, .page = own.usage};
  close_usage(inherited);
  own.usage = nullptr;
  own.has_said_why = false;
  own.state.store(State::kClosed, std::memory_order_relaxed);
  if (own.in_child != nullptr) own.in_child();
}

/// Takes a free slot, and gives back what a dead process has left there.
/// @returns 0, or an errno; EAGAIN = all are taken
int take_slot(const UsageFile& usage) {
  const pid_t pid = getpid();
  const auto first =
      static_cast<std::size_t>(pid) % kMaxProcesses;  // so that few processes collide
  for (std::size_t tried = 0; tried < kMaxProcesses; ++tried) {
    const std::size_t slot = (first + tried) % kMaxProcesses;
    if (!lock_slot(usage, slot)) {
      if (errno == EAGAIN || errno == EACCES) continue;
      return errno;
    }
    if (const int error = take_memory(usage, slot); error != 0) return error;
    usage.page->taken[slot].store(1, std::memory_order_release);
    SlotAccounts(*usage.page, slot).recover();
    usage.page->slots[slot].pid.store(pid, std::memory_order_relaxed);
    own.slot = slot;
    return 0;
  }
  return EAGAIN;
}

/// Why the pages cannot be opened, of what was tried last. Out of descriptors, memory or room, a
/// process may try again.
State give_up(std::initializer_list<Word> why) {
  const bool may_pass =
      errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOSPC || errno == EINTR;
  if (!may_pass || !own.has_said_why) log_line(why);
  own.has_said_why = may_pass;
  return may_pass ? State::kClosed : State::kFailed;
}

State open_pages() {
  errno = 0;
  if (own.limits == nullptr) own.limits = map_limits(kLimitsPath.data());
  if (own.limits == nullptr) {
    return give_up({"cannot read ", kLimitsPath,
                    ", so no card can be used; is the container from a pod "
                    "that Tangram has bound?"});
  }
  UsageFile usage = open_usage(kUsagePath.data());
  if (usage.page == nullptr) {
    return give_up({"cannot open ", kUsagePath,
                    " to account memory, so no card can be used; its mount "
                    "must be writable for the container's user"});
  }
  const int error = take_slot(usage);
  if (error == 0) {
    own.usage = usage.page;
    (void)close(usage.fd);
    return State::kOpen;
  }
  close_usage(usage);
  errno = error;
  if (error == EAGAIN) {
    return give_up({"all ", kMaxProcesses,
                    " places for processes that use cards in this container are "
                    "taken; end some of them"});
  }
  if (error == ENOSPC) {
    return give_up({"the file system of ", kUsagePath, " is full, so no card can be used now"});
  }
  return give_up({"cannot lock a place in ", kUsagePath, " (error ",
                  static_cast<std::uint64_t>(error),
                  "), so no card can be used; its file system needs open file description locks, ",
                  "which Linux has since 3.15"});
}

/// Under the mutex, so that no child inherits the file.
/// @returns whether a process was found dead
bool recover_others() {
  const UsageFile usage{.fd = open(kUsagePath.data(), O_RDWR | O_CLOEXEC), .page = own.usage};
  if (usage.fd < 0) return false;
  const bool recovered = recover_dead(usage) > 0;
  (void)close(usage.fd);
  return recovered;
}

SlotAccounts accounts() { return {*own.usage, own.slot}; }

}  // namespace

bool attach() {
  const State state = own.state.load(std::memory_order_acquire);
  if (state != State::kClosed) return state == State::kOpen;
  const Lock lock(own.mutex);
  if (own.state.load(std::memory_order_relaxed) == State::kClosed) {
    if (!own.watches_forks) {
      own.watches_forks = pthread_atfork(before_fork, after_fork, in_child_after_fork) == 0;
    }
    // Without memory for the handlers of forks, it stays closed for now.
    if (own.watches_forks) own.state.store(open_pages(), std::memory_order_release);
  }
  return own.state.load(std::memory_order_relaxed) == State::kOpen;
}

std::size_t find_card(const Uuid& uuid) {
  for (std::size_t card = 0; card < own.limits->card_count; ++card) {
    if (own.limits->cards[card].uuid == uuid) return card;
  }
  return kNoCard;
}

bool reserve(std::size_t card, std::uint64_t bytes, std::uint64_t rounding) {
  const Lock lock(own.mutex);
  if (own.usage == nullptr) return false;
  const auto add = [&] {
    const std::uint64_t most = accountable_bytes(own.limits->cards[card]);
    const std::uint64_t to_block_end = (kBlockBytes - most % kBlockBytes) % kBlockBytes;
    return accounts().add(card, bytes, most + (rounding < to_block_end ? rounding : to_block_end));
  };
  return add() || (recover_others() && add());
}

void reserve_anyway(std::size_t card, std::uint64_t bytes) {
  const Lock lock(own.mutex);
  if (own.usage != nullptr) (void)accounts().add(card, bytes, kNoLimit);
}

void release(std::size_t card, std::uint64_t bytes) {
  const Lock lock(own.mutex);
  if (own.usage != nullptr) accounts().subtract(card, bytes);
}

CardMemory memory_of(std::size_t card) {
  const Lock lock(own.mutex);
  if (own.usage == nullptr) return {};
  (void)recover_others();
  const CardLimit& limit = own.limits->cards[card];
  return {limit.memory_bytes.load(std::memory_order_relaxed),
          available_bytes(limit, own.usage->totals[card])};
}

LeasePages lease_pages() {
  const Lock lock(own.mutex);
  return {own.limits, own.usage, own.slot};
}

void on_fork(void (*in_child)()) { own.in_child = in_child; }

void log_refusal(const char* call, std::size_t card, std::uint64_t bytes) {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): as of all libraries, the program must not change it now
  if (getenv("TANGRAM_LOG") == nullptr) return;
  const CardMemory memory = memory_of(card);
  log_line({call, "() of ", bytes, " bytes is refused: the limit of card ", card, " is ",
            memory.limit >> 20U, " MiB, of which ", memory.available >> 20U, " MiB are free"});
}

}  // namespace tangram::shim
