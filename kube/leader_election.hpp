#pragma once

#include "base/clock.hpp"
#include "base/result.hpp"
#include "base/sleeper.hpp"
#include "kube/api.hpp"
#include "kube/lease.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

namespace tangram::kube {

struct LeaderSettings {
  std::string ns;        ///< of the Lease
  std::string name;      ///< of the Lease
  std::string identity;  ///< unlike any other candidate's, also that of this pod's earlier life
  // client-go's own values.
  std::chrono::seconds lease_duration{15};           ///< others wait that long for a silent leader
  std::chrono::milliseconds renew_deadline{10'000};  ///< a leader that cannot renew gives up
  std::chrono::milliseconds retry_period{2'000};  ///< between two renewals; others look more often
};

/// Elects one of several replicas by a Lease, by client-go's rules (tools/leaderelection).
///
///               take over, or create            another holder, or maker,
///     follower ---------------------> leader    nothing confirmed for renew_deadline
///        ^                              |------------------------------------------.
///        '------------------------------'<-----------------------------------------'
///
/// A write whose outcome is unknown counts for nothing: the leader leads as long as the last
/// confirmed one allows, and reads the Lease before it writes again.
///
/// A Lease that is deleted no longer says who leads, but its holder may lead on. So others take
/// over only when they have not seen a Lease for as long as the last one they saw was valid, and at
/// least for lease_duration; the holder makes it again. The same where another object has replaced
/// it. The first leader of all starts that much later. (Between two deletions within one
/// retry_period others may not notice that a Lease was there.)
///
/// A Lease by itself does not stop a leader that was suspended. leads_past() does: a leader begins
/// nothing that could still take effect after its lease may be another's.
/// Threads: run(), step() and resign() on one thread, the rest from any.
class LeaderElector {
 public:
  /// Called on the elector's thread.
  struct Callbacks {
    std::function<void()> on_started_leading;
    /// leads_past() is false already. When the elector stops it gives the Lease back after this has
    /// returned, so wait here for whatever was begun as the leader.
    /// @returns false if a write may still take effect; then the Lease is left to expire
    std::function<bool()> on_stopped_leading;
  };
  struct Surroundings {
    KubeApi& api;
    const Clock& clock;
    std::function<double()> random;  ///< 0 <= x < 1
    Sleeper sleeper = sleep_until_stopped;
  };

  /// @returns kInvalidArgument unless lease_duration > renew_deadline > 1.2 x retry_period > 0 and
  ///          all names are there
  static Result<std::unique_ptr<LeaderElector>> create(LeaderSettings settings,
                                                       Surroundings surroundings,
                                                       Callbacks callbacks);

  /// Takes part until stop, then resigns. Blocks; errors are logged, never thrown.
  void run(const std::stop_token& stop);
  /// One attempt to get or keep the lease. @returns how long to wait until the next one
  std::chrono::milliseconds step();
  /// Stops leading and gives the Lease back, so that another one need not wait for it to expire:
  /// one write, or three requests if another has written meanwhile, of 2 s at most each.
  void resign();

  /// Until when no other replica can lead, by the monotonic clock; nothing if we do not lead. It
  /// counts from before the renewal was sent, so it is never later than what others wait for.
  [[nodiscard]] std::optional<TimePoint> leads_until() const;
  /// Whether we lead and still will at `deadline`: check this before sending anything only the
  /// leader may send, with the time by which that will have taken effect or not.
  [[nodiscard]] bool leads_past(TimePoint deadline) const;

  struct Status {
    bool leading = false;
    std::string holder;  ///< as last seen; empty: none, or not known yet
    std::int64_t transitions = 0;
  };
  [[nodiscard]] Status status() const;

 private:
  LeaderElector(LeaderSettings settings, Surroundings surroundings, Callbacks callbacks);

  void attempt();
  void miss();
  void wait_out();
  bool see_answer(const Result<Response>& response);
  void create_lease();
  void claim();
  void look_into_conflict();
  void confirm(TimePoint sent, const std::string& body);
  void see(const std::string& body);
  void lose(std::string_view why);
  void lose_if_late();
  bool give_back();
  [[nodiscard]] Result<Response> send(Method method, const std::string& path, std::string body);
  [[nodiscard]] Result<Response> send_within(std::chrono::milliseconds timeout, Method method,
                                             const std::string& path, std::string body);
  [[nodiscard]] std::chrono::milliseconds time_for_a_request() const;
  [[nodiscard]] std::chrono::milliseconds time_to_give_back() const;
  [[nodiscard]] std::chrono::milliseconds pause() const;
  [[nodiscard]] std::chrono::milliseconds look_interval() const;
  [[nodiscard]] std::chrono::milliseconds until_free() const;
  void publish();

  const LeaderSettings settings_;
  const Surroundings around_;
  const Callbacks callbacks_;
  const std::string collection_;
  const std::string path_;

  // Of run()'s thread.
  std::optional<LeaseSighting> seen_;
  std::string lease_;      ///< the object as last seen, with its version
  bool must_read_ = true;  ///< what we know may not be what is there
  bool leading_ = false;
  bool finished_ = true;   ///< what on_stopped_leading said last
  bool absent_ = false;    ///< there was no Lease when we looked last
  TimePoint missed_{};     ///< last, while absent
  TimePoint free_from_{};  ///< who led by a Lease that is gone does not lead from then on
  TimePoint renewed_{};    ///< when the last confirmed write was about to be sent

  static constexpr TimePoint kNever = TimePoint::min();
  std::atomic<TimePoint> leads_until_ = kNever;
  mutable std::mutex mutex_;
  Status status_;  ///< under mutex_
};

}  // namespace tangram::kube
