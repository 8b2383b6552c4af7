#pragma once

#include "base/clock.hpp"
#include "base/result.hpp"
#include "node/container/journal.hpp"
#include "node/container/memory_limiters.hpp"
#include "node/container/processes.hpp"
#include "node/pods/local_pods.hpp"
#include "node/resize/resize_check.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>

namespace tangram::node {

/// The memory limits of running containers: by the journal, and smaller ones for a while before
/// they are recorded there. Never above what the journal says.
///
/// A limit that was lowered counts for one start of the container: a later start gets the limits in
/// the journal. What cannot be set now is set as soon as it can be, in set_by_journal().
///
/// Calls of limiters, which may wait for the driver, are made in lower() and set_by_journal() only.
/// Threads: one, that which changes grants in the journal.
class LimitsInForce {
 public:
  using Allocations = std::set<std::string, std::less<>>;  ///< names

  struct Parts {
    const Journal& journal;
    MemoryLimiters& limiters;
    const PodSource& pods;
    const Processes& processes;
    /// The kernel's id of this boot; empty = not known. A container that was started in an earlier
    /// boot does not run, whatever is left of its limits.
    std::string boot;
    const Clock& clock;
  };
  explicit LimitsInForce(Parts parts) : parts_(std::move(parts)) {}

  /// A process that compared with the larger limit just before has accounted its memory by then.
  static constexpr std::chrono::milliseconds kSettling{200};

  enum class Lowered { kNo, kJustNow, kYes };
  /// Are the resize's smaller limits in force, for long enough at `now`? A resize that lowers none
  /// needs none.
  [[nodiscard]] Lowered lowered(const Resize& resize, TimePoint now) const;
  /// Sets the resize's smaller limits. If it fails, those in the journal are to be set again.
  /// @returns the limiter's error; kNotFound as MemoryLimiter::change()
  Result<void> lower(const Resize& resize);

  /// The journal's limits are to be set, of one container or of all: by set_by_journal().
  void to_set(const std::string& allocation);
  void all_to_set();
  /// The same where they were lowered.
  void withdraw(const std::string& allocation);
  void withdraw_all_but(const std::vector<Resize>& due);

  /// Sets what is to be set. What cannot be set now stays to be set, also where nothing says what
  /// the limits of the container are now: it may run with other ones. A container that has ended
  /// for good needs none.
  /// @param failed  called with the error for each container where it cannot be
  void set_by_journal(const std::function<void(const JournalEntry&, const Error&)>& failed);
  /// The allocations whose limits in the journal are not known to be in force.
  [[nodiscard]] const Allocations& to_set() const { return to_set_; }

  /// Some limits are lowered and not recorded.
  [[nodiscard]] bool any_lowered() const { return !lowered_.empty(); }

 private:
  struct LoweredLimits {
    std::string grant;   ///< that they are of
    std::int64_t start;  ///< Claim::marked_at of the start that they count for
    TimePoint since;
  };
  [[nodiscard]] Result<void> set(std::string_view allocation, const Claim& claim,
                                 const CardsByMeans& cards) const;

  [[nodiscard]] bool has_ended(const Claim& claim) const;

  const Parts parts_;
  std::map<std::string, LoweredLimits, std::less<>> lowered_;  ///< by allocation
  Allocations to_set_;
};

}  // namespace tangram::node
