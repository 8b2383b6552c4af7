#include "shim/accounts.hpp"

#include "shim/compare_and_swap.hpp"

namespace tangram::shim {
namespace {

constexpr unsigned kSequenceBits = 48;  // 10^9 changes per second wrap it after three days
constexpr std::uint64_t kSequenceMask = (std::uint64_t{1} << kSequenceBits) - 1;

}  // namespace

Account& SlotAccounts::account(std::size_t card) const {
  return page_->slots[slot_].accounts[card];
}

std::uint64_t SlotAccounts::tag(std::uint64_t sequence) const {
  return (static_cast<std::uint64_t>(slot_ + 1) << kSequenceBits) | sequence;
}

bool SlotAccounts::add(std::size_t card, std::uint64_t bytes, std::uint64_t limit) {
  return bytes == 0 || change(card, bytes, limit);
}

void SlotAccounts::subtract(std::size_t card, std::uint64_t bytes) {
  if (bytes != 0) (void)change(card, ~bytes + 1, kNoLimit);
}

bool SlotAccounts::change(std::size_t card, std::uint64_t delta, std::uint64_t limit) {
  Account& own = account(card);
  Total& total = page_->totals[card];
  const std::uint64_t sequence = own.sequence.load(std::memory_order_relaxed) + 1;
  own.intent_delta.store(delta, std::memory_order_relaxed);
  own.intent_sequence.store(sequence, std::memory_order_release);
  while (true) {
    const std::uint64_t before = total.tag.load(std::memory_order_acquire);
    const std::uint64_t bytes = total.bytes.load(std::memory_order_acquire);
    if (limit != kNoLimit && (bytes > limit || delta > limit - bytes)) {
      settle(card, sequence, 0);
      return false;
    }
    acknowledge(card, before);
    if (compare_and_swap(total.bytes, {bytes, before}, {bytes + delta, tag(sequence)})) break;
  }
  settle(card, sequence, delta);
  return true;
}

/// No other process writes these two words, so the exchange cannot fail; it is for a process that
/// dies: both words change, or none.
void SlotAccounts::settle(std::size_t card, std::uint64_t sequence, std::uint64_t delta) {
  Account& own = account(card);
  const std::uint64_t bytes = own.bytes.load(std::memory_order_relaxed);
  const std::uint64_t before = own.sequence.load(std::memory_order_relaxed);
  (void)compare_and_swap(own.bytes, {bytes, before}, {bytes + delta, sequence});
}

/// For the process that made the change of this tag: its own record of it may never be settled.
void SlotAccounts::acknowledge(std::size_t card, std::uint64_t tag) {
  if (tag == 0) return;
  const std::uint64_t slot = (tag >> kSequenceBits) - 1;
  if (slot == slot_) return;  // settled: a change in a slot begins after the end of the last one
  if (slot >= kMaxProcesses) return;  // the page is the container's to write: it may be garbage
  std::atomic<std::uint64_t>& acknowledged = page_->slots[slot].accounts[card].acknowledged;
  const std::uint64_t sequence = tag & kSequenceMask;
  std::uint64_t seen = acknowledged.load(std::memory_order_acquire);
  while (seen < sequence && !acknowledged.compare_exchange_weak(seen, sequence)) {}
}

void SlotAccounts::complete(std::size_t card) {
  const Account& own = account(card);
  const std::uint64_t sequence = own.intent_sequence.load(std::memory_order_acquire);
  if (sequence == own.sequence.load(std::memory_order_acquire)) return;
  // In this order: the tag is acknowledged before it is replaced.
  const bool is_last = page_->totals[card].tag.load(std::memory_order_acquire) == tag(sequence);
  const bool happened = is_last || own.acknowledged.load(std::memory_order_acquire) >= sequence;
  settle(card, sequence, happened ? own.intent_delta.load(std::memory_order_relaxed) : 0);
}

void SlotAccounts::recover() {
  for (std::size_t card = 0; card < kMaxCards; ++card) {
    complete(card);
    subtract(card, account(card).bytes.load(std::memory_order_relaxed));
    account(card).in_flight.store(0, std::memory_order_relaxed);
    account(card).waiting.store(0, std::memory_order_relaxed);
  }
}

bool SlotAccounts::owes() const {
  for (std::size_t card = 0; card < kMaxCards; ++card) {
    const Account& own = account(card);
    if (own.bytes.load(std::memory_order_acquire) != 0 ||
        own.intent_sequence.load(std::memory_order_acquire) !=
            own.sequence.load(std::memory_order_acquire)) {
      return true;
    }
  }
  return false;
}

std::uint64_t accountable_bytes(const CardLimit& limit) {
  const std::uint64_t bytes = limit.memory_bytes.load(std::memory_order_relaxed);
  const std::uint64_t overhead = limit.overhead_bytes.load(std::memory_order_relaxed);
  return bytes > overhead ? bytes - overhead : 0;
}

std::uint64_t available_bytes(const CardLimit& limit, const Total& total) {
  const std::uint64_t most = accountable_bytes(limit);
  const std::uint64_t used = total.bytes.load(std::memory_order_relaxed);
  return most > used ? most - used : 0;
}

}  // namespace tangram::shim
