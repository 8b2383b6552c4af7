#pragma once

#include "shim/pages.hpp"

/// The exact sum of what the processes of a container use, whatever instruction they die at.
///
/// Every change of a total goes through the account of one slot:
///
///     1. intent    the account says what is about to change, under a new sequence number
///     2. change    the total takes the new sum and the tag (slot, number), in one instruction;
///                  before that, the change in the tag that it replaces is acknowledged in its
///                  slot, unless that is the same one
///     3. settle    the account takes its own new sum and that number, in one instruction
///
/// A process that dies between 1 and 3 leaves a pending change. It happened if the total still has
/// its tag, or if it was acknowledged; so whoever gets the dead process's slot can complete it,
/// and then give back what the slot has, by the same three steps. Nobody ever waits.
///
/// Threads: one at a time for each slot; any number of slots, in any number of processes.
namespace tangram::shim {

inline constexpr std::uint64_t kNoLimit = ~std::uint64_t{0};

/// The slot's part of the page. The caller has the slot's lock.
class SlotAccounts {
 public:
  SlotAccounts(UsagePage& page, std::size_t slot) : page_(&page), slot_(slot) {}

  /// Adds to the slot's account of a card and to the card's total, unless the total would be above
  /// the limit then.
  [[nodiscard]] bool add(std::size_t card, std::uint64_t bytes, std::uint64_t limit);
  /// Gives back what was added.
  void subtract(std::size_t card, std::uint64_t bytes);

  /// Completes what a dead process has begun in this slot and gives back all that it had, on all
  /// cards. It neither waits for a turn nor has work in flight any more.
  void recover();
  /// Has the slot anything to give back?
  [[nodiscard]] bool owes() const;

 private:
  [[nodiscard]] Account& account(std::size_t card) const;
  [[nodiscard]] std::uint64_t tag(std::uint64_t sequence) const;
  [[nodiscard]] bool change(std::size_t card, std::uint64_t delta, std::uint64_t limit);
  void settle(std::size_t card, std::uint64_t sequence, std::uint64_t delta);
  void complete(std::size_t card);
  void acknowledge(std::size_t card, std::uint64_t tag);

  UsagePage* page_;
  std::size_t slot_;
};

/// What a container can still account on a card; 0 if it uses more than its limit, which may have
/// been lowered.
[[nodiscard]] std::uint64_t available_bytes(const CardLimit& limit, const Total& total);
/// The limit of what processes account: the share less the overhead.
[[nodiscard]] std::uint64_t accountable_bytes(const CardLimit& limit);

}  // namespace tangram::shim
