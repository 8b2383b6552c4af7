#pragma once

#include "base/clock.hpp"
#include "base/required.hpp"
#include "base/result.hpp"
#include "base/sleeper.hpp"
#include "kube/event_series.hpp"
#include "node/audit/memory_check.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <tuple>
#include <vector>

namespace tangram::node {

/// Finds processes that use cards past what limits their memory inside their container: an image
/// may have a driver library of its own, which no limit holds. It detects; it does not prevent.
///
/// Each process is looked at when it is first noted, and again every minute: it may load another
/// library later. A container has at most four looks a time, because it can have any number of
/// processes; the others wait for the next time.
///
/// On a thread of its own: a hostile process can make a read of what it has mapped wait, which must
/// not hold up MemoryChecker.
///
/// Threads: run() and look() on one, the rest from any. No lock is held during a call.
class LibraryChecker {
 public:
  struct Parts {
    /// MemoryLimiter::way_past() of a process of this container.
    Required<std::function<Result<std::string>(const MemoryUse&, std::int64_t pid)>> way_past;
    Required<std::function<void(kube::EventNote)>> report_event;
    const Clock& clock;
    Sleeper sleeper = sleep_until_stopped;
  };
  explicit LibraryChecker(Parts parts) : parts_(std::move(parts)) {}

  /// The use of a card by one container, about every second. Where its processes are not known,
  /// nothing is.
  void note_use(const MemoryUse& use);
  /// Looks every second until the end.
  void run(const std::stop_token& stop);
  /// Looks at what was noted since the last time.
  void look();

  /// A container with such processes.
  struct Found {
    std::string ns;
    std::string pod;
    std::string container;
    std::uint64_t processes = 0;
    friend bool operator==(const Found&, const Found&) = default;
  };
  struct State {
    std::vector<Found> found;  ///< now
    std::uint64_t looks = 0;
    std::uint64_t unclear = 0;  ///< looks that did not tell
  };
  [[nodiscard]] State state() const;

 private:
  using Container = std::tuple<std::string, std::string>;  ///< pod UID, name
  struct Seen {
    Container container;
    TimePoint noted;
    std::optional<TimePoint> looked;
    bool is_past = false;
  };

  using Key = std::tuple<std::string, std::string, std::string>;  ///< card, pod UID, container

  void look_at(const MemoryUse& use);
  void look_at(const MemoryUse& use, std::int64_t pid, Seen& seen);
  void forget_ended();
  void report(const MemoryUse& use, const std::string& path) const;
  void publish();

  const Parts parts_;
  std::map<std::int64_t, Seen> seen_;  ///< by PID; of run()'s thread

  mutable std::mutex mutex_;
  std::map<Key, MemoryUse> noted_;  ///< under mutex_, as the rest
  std::map<Container, Found> found_;
  std::uint64_t looks_ = 0;
  std::uint64_t unclear_ = 0;
};

}  // namespace tangram::node
