#pragma once

#include "base/clock.hpp"
#include "base/units.hpp"

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

/// The lease of a card's time: containers that share a card by time use it in turns.
namespace tangram::node::lease {

/// What a container may have of a card's time.
struct TimeShare {
  MilliGpu share;  ///< its part while others want the card, too
  MilliGpu limit;  ///< more than this it never gets; kWholeGpu = no limit
  friend bool operator==(const TimeShare&, const TimeShare&) = default;
};

/// What a container's usage page says of the card at a moment. The container wrote it: it may be
/// anything.
struct Sight {
  bool waits = false;                 ///< for its turn
  bool in_flight = false;             ///< has work on the card, as far as it knows
  std::uint32_t launches = 0;         ///< changes while it launches
  std::chrono::nanoseconds busy{0};   ///< that was measured since the last sight
  std::chrono::nanoseconds batch{0};  ///< how long its last batch of launches took
};

/// Decides which container has its turn on a card.
///
/// Weighted fair queueing by card time: each container has a virtual time, which goes on by what it
/// used over its share; of those that want the card, the one that is furthest behind has the turn.
/// A turn ends after 10 ms if another is further behind then, as soon as the holder does nothing
/// for 2 ms, or when its limit is reached:
///
///     open ── time is over ──> draining ── its work has ended, or takes too long ──> the next one
///       └──── it is idle, or has died ────────────────────────────────────────────>
///
/// What a turn took beyond its time is debt: it moves the container's virtual time. A container
/// that comes back has no more credit than 50 ms, however long it was idle. While no container
/// wants the card all turns are open, so that the first need not wait.
///
/// What counts is the clock: a container that holds the turn while another waits is charged at
/// least seven eighths of that time, whatever its page says, and never more than all of it. Alone
/// it is charged by what it measured. So a page with garbage harms its own container.
///
/// Deterministic: ties go by name. Threads: one at a time.
class Arbiter {
 public:
  /// Adds a container, or changes its share.
  void set(const std::string& container, const TimeShare& time);
  void remove(const std::string& container);

  /// Looks at the card and decides. Every 1 to 2 ms, unless is_quiet().
  /// @param sights  of all containers; a missing one does nothing
  void step(TimePoint now, const std::map<std::string, Sight>& sights);

  /// May the container launch?
  [[nodiscard]] bool is_open(const std::string& container) const;
  /// Nobody wants the card: a step every 20 ms is enough.
  [[nodiscard]] bool is_quiet() const;
  /// Whose turn it is, or is ending; none = all turns are open.
  [[nodiscard]] const std::optional<std::string>& holder() const { return holder_; }

 private:
  struct Container {
    TimeShare time;
    Sight sight;
    bool active = false;                 ///< wants the card, or uses it
    bool queued = false;                 ///< it may have the turn
    std::optional<TimePoint> last_sign;  ///< when it last did something
    TimePoint charged_at{};              ///< up to when its time was charged
    std::int64_t virtual_ns = 0;
    std::int64_t budget_ns = 0;  ///< until its limit is reached
    bool exhausted = false;      ///< it is, and the budget has not been refilled
    std::int64_t owed_ns = 0;    ///< measured and not charged; negative: the other way round
  };

  static void look(Container& container, const Sight& sight, TimePoint now);
  static void refill(Container& container, std::int64_t passed_ns);
  static void charge(Container& container, std::int64_t ns);
  void charge_time(TimePoint now);
  void advance_virtual_time();
  void settle_turn(bool drained);
  void decide(TimePoint now);
  void begin_turn(const std::string& container, TimePoint now);
  [[nodiscard]] bool is_drained(const Container& container, TimePoint now) const;
  [[nodiscard]] std::optional<std::string> furthest_behind() const;

  std::map<std::string, Container> containers_;
  std::optional<TimePoint> last_step_;
  std::int64_t virtual_now_ = 0;
  std::optional<std::string> holder_;
  std::int64_t turn_ns_ = 0;            ///< how long the turn has lasted
  bool contended_ = false;              ///< another container wanted the card during the turn
  std::optional<TimePoint> closed_at_;  ///< of the turn that is draining
};

}  // namespace tangram::node::lease
