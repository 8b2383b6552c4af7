#pragma once

#include "base/clock.hpp"
#include "kube/api.hpp"
#include "kube/event_series.hpp"

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <thread>

namespace tangram::kube {

/// The writer of events.
struct EventReporter {
  std::string controller = "tangram.dev/extender";
  std::string instance;  ///< this process among its replicas: the pod's or the host's name
};

/// Writes events (events.k8s.io/v1) about pods and nodes, from a thread of its own.
///
/// Events are best effort: no caller waits for one, and one that cannot be written is counted and
/// forgotten. Equal notes about one object within ten minutes are one event with a
/// count. One object gets 25 of them at once and then one in five minutes, all objects together 100
/// and then 10 a second; so memory, queue and series, is bounded too.
/// Threads: safe.
class EventRecorder {
 public:
  EventRecorder(KubeApi& api, EventReporter reporter, const Clock& clock);
  /// Waits for the write that is under way; drops the queue.
  ~EventRecorder();
  EventRecorder(const EventRecorder&) = delete;
  EventRecorder& operator=(const EventRecorder&) = delete;

  /// Never blocks and never fails.
  void record(EventNote note);

  /// Waits until what was recorded before is written or dropped: for tests and orderly ends.
  /// @returns whether that took no longer than the limit
  bool flush(std::chrono::milliseconds limit = std::chrono::minutes(1));

  struct Counts {
    std::uint64_t written = 0;   ///< new events and counts of old ones
    std::uint64_t overflow = 0;  ///< dropped: the queue was full
    std::uint64_t limited = 0;   ///< dropped: too many
    std::uint64_t failed = 0;    ///< the server did not take them
  };
  [[nodiscard]] Counts counts() const;

 private:
  struct Entry {
    EventNote note;
    WallTime time;
  };
  enum class Fate { kWritten, kLimited, kFailed };

  void run(const std::stop_token& stop);
  Fate write(const Entry& entry);
  [[nodiscard]] Request create_request(const Entry& entry, const EventSeries::Write& event) const;
  [[nodiscard]] Request count_request(const Entry& entry, const EventSeries::Write& event) const;

  KubeApi& api_;
  const EventReporter reporter_;
  const Clock& clock_;
  EventSeries series_;  ///< of the thread

  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  // Under mutex_.
  std::deque<Entry> queue_;
  std::uint64_t accepted_ = 0;
  std::uint64_t finished_ = 0;
  Counts counts_;

  std::jthread thread_;  ///< ends before the rest goes
};

}  // namespace tangram::kube
