#pragma once

#include "base/clock.hpp"
#include "cluster/pod_table.hpp"
#include "cluster/shared_ledger.hpp"
#include "extender/page/broadcast.hpp"
#include "extender/page/packing_changes.hpp"
#include "http/types.hpp"

#include <prometheus/collectable.h>

#include <chrono>
#include <mutex>
#include <stop_token>
#include <string>

namespace tangram::extender {

/// GET /api/v1/packing and /api/v1/events: the packing as of an event, and the events since. A
/// client that reads the one and then the other misses no change and sees none twice.
///
/// Costs nothing without readers: the first reader starts the comparing, and kQuiet after the
/// last one has gone it stops. Threads: safe.
class PackingStream final : public prometheus::Collectable {
 public:
  /// People do not see faster; what changes more often is reported once.
  static constexpr std::chrono::milliseconds kInterval{500};
  /// A client that is gone is noticed by the second beat that does not reach it.
  static constexpr std::chrono::seconds kBeat{5};
  /// A client that comes back within this finds what it missed.
  static constexpr std::chrono::seconds kQuiet{30};

  struct Parts {
    const cluster::SharedLedger& ledger;
    const cluster::PodTable& pods;
    const Clock& clock;
  };
  /// The parts outlive it.
  explicit PackingStream(Parts parts, BroadcastLimits limits = {});

  /// {"event", "nodes", "pending"}. Takes a moment: to be called in turn.
  [[nodiscard]] std::string packing();
  /// A stream that resumes behind the event which the request names; 503 if there are too many.
  [[nodiscard]] http::Response open(const http::Request& request);

  /// Publishes what has changed since the last time.
  void look();
  /// Looks every kInterval until stop. To be called once.
  void run(const std::stop_token& stop);

  /// Ends all streams.
  void close() { broadcast_.close(); }
  [[nodiscard]] Broadcast::Counts counts() const { return broadcast_.counts(); }
  [[nodiscard]] std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  void be_needed();
  void rest();

  const Parts parts_;
  Broadcast broadcast_;
  std::mutex mutex_;  ///< guards all below
  PackingChanges changes_;
  bool looking_ = false;  ///< changes_ knows what was reported
  TimePoint needed_;      ///< when there was a reader last
  TimePoint beat_;        ///< when something was sent last
};

}  // namespace tangram::extender
