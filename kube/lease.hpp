#pragma once

#include "base/clock.hpp"
#include "base/result.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

/// A coordination.k8s.io/v1 Lease as the lock of an election, and the rules of client-go's
/// leaderelection.go over it, as pure functions.
namespace tangram::kube {

/// What the candidates share: the spec of the Lease.
struct LeaseRecord {
  std::string holder;  ///< empty: given back
  /// How long a renewal is valid; nothing if it is not set.
  std::optional<std::chrono::seconds> duration = {};
  std::string acquire_time =
      {};  ///< MicroTime. Times of other clocks: compared, never computed with
  std::string renew_time = {};
  std::int64_t transitions = 0;  ///< how often the lease has gone to another holder
  std::string uid = {};          ///< of the object: another one was made anew

  friend bool operator==(const LeaseRecord&, const LeaseRecord&) = default;
};

/// @returns kInvalidArgument if the text is no Lease, with the path
Result<LeaseRecord> read_lease(std::string text);

/// A new Lease as JSON.
[[nodiscard]] std::string new_lease(const std::string& ns, const std::string& name,
                                    const LeaseRecord& record);
/// The Lease `text` with another record: all else of it stays, its resourceVersion too, which makes
/// a PUT of it fail if anybody has written since.
/// @returns kInvalidArgument if the text is no JSON object
Result<std::string> with_record(const std::string& text, const LeaseRecord& record);

/// A record, and since when it has stood there unchanged, by our own monotonic clock.
struct LeaseSighting {
  LeaseRecord record;
  TimePoint since{};
};
/// What is known after `record` has been read at `now`: only a change begins a new age. What the
/// holder's clock shows plays no part.
[[nodiscard]] LeaseSighting sighted(const std::optional<LeaseSighting>& before, LeaseRecord record,
                                    TimePoint now);

enum class LeaseMove {
  kWait,      ///< another one holds it
  kTakeOver,  ///< it has no holder, or has not been renewed within its duration
  kRenew,     ///< we hold it
};
/// @param otherwise  the duration of a record without one
[[nodiscard]] LeaseMove next_move(const LeaseSighting& seen, std::string_view identity,
                                  std::chrono::seconds otherwise, TimePoint now);

/// The record to write when taking over or renewing. Renewing keeps the time of acquisition;
/// taking over counts one transition.
[[nodiscard]] LeaseRecord claimed(const LeaseRecord& before, const std::string& identity,
                                  std::chrono::seconds duration, WallTime now);
/// The record that releases the lease: without a holder, for a second.
[[nodiscard]] LeaseRecord given_back(const LeaseRecord& before, WallTime now);

}  // namespace tangram::kube
