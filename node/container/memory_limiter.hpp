#pragma once

#include "base/result.hpp"
#include "model/grant.hpp"
#include "node/container/cdi_spec.hpp"
#include "node/pages/allocation_pages.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace tangram::node {

/// Memory that a container uses on cards, by id, as the driver counts it.
using MemoryByCard = std::map<std::string, std::uint64_t, std::less<>>;

/// Holds containers to their memory limits by one means, however the cards' compute is shared.
/// Threads: safe.
class MemoryLimiter {
 public:
  virtual ~MemoryLimiter() = default;

  /// Prepares the limits of a container that is about to start, also again.
  /// @param allocation  the name of its CDI device
  /// @param cards       that it shares and this means limits, in the order in which it sees them
  /// @param vendor      what the vendor's CDI specs add to it; changed as the means needs it
  /// @returns what else the container needs;
  ///          kUnavailable      not now: another try may succeed
  ///          kInvalidArgument  not on this card or machine, with what to do
  virtual Result<ContainerEdits> limit(std::string_view allocation,
                                       const std::vector<model::GrantedCard>& cards,
                                       CdiEdits& vendor) = 0;

  /// Changes the limits of a container that was started, at once. If it does not run, the next
  /// start under this allocation has them. May wait for the driver.
  /// @param cards  those whose limit changes
  /// @returns kNotFound         there is nothing that says what the container's limits are now: it
  ///                            was not started since the machine was, or not by this means
  ///          kUnavailable      not now: another try may succeed
  ///          kConflict         not as long as the container runs as it does, with what to do
  ///          kInvalidArgument  this means sets limits only when a container starts
  virtual Result<void> change(std::string_view /*allocation*/,
                              const std::vector<model::GrantedCard>& /*cards*/) {
    return fail(Errc::kInvalidArgument, "the limits of a running container cannot be changed");
  }

  /// What a container uses of a card by this means' own count, which may be ahead of the driver's.
  /// May wait for the driver.
  /// @returns kNotFound     it does not count
  ///          kUnavailable  it cannot be read now
  [[nodiscard]] virtual Result<std::uint64_t> in_use(std::string_view /*allocation*/,
                                                     std::string_view /*card*/) {
    return fail(Errc::kNotFound, "it is not counted");
  }

  /// Takes note of what a container uses, about every second.
  virtual void note_use(std::string_view /*allocation*/, const MemoryByCard& /*used*/) {}

  /// The file by which a process uses cards past this means, as far as what it has mapped tells.
  /// @returns empty if there is none;
  ///          kNotFound     it has ended
  ///          kUnavailable  it cannot be read
  virtual Result<std::string> way_past(std::int64_t /*pid*/) { return std::string(); }

  /// Gives up what it keeps for all but these allocations.
  virtual void keep(const std::set<std::string, std::less<>>& /*allocations*/) {}

  /// The pages that its libraries in a container go by.
  /// @returns null if there are none, or they cannot be opened now
  [[nodiscard]] virtual std::shared_ptr<AllocationPages> pages(std::string_view /*allocation*/) {
    return nullptr;
  }
};

}  // namespace tangram::node
