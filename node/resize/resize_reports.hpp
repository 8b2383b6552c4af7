#pragma once

#include "base/clock.hpp"
#include "base/required.hpp"
#include "kube/event_series.hpp"
#include "kube/rate_limiter.hpp"
#include "node/container/journal.hpp"
#include "node/resize/reported_reasons.hpp"
#include "node/resize/resize_check.hpp"

#include <functional>
#include <string>

namespace tangram::node {

/// Reports resizes in the log and in events of the pods. Why one waits is reported as
/// ReportedReasons says, however often it is passed here.
/// Threads: one at a time.
class ResizeReports {
 public:
  using ReportEvent = Required<std::function<void(kube::EventNote)>>;
  ResizeReports(ReportEvent report_event, const Clock& clock);

  /// The container has what the revision grants.
  void resized(const Resize& resize);
  void waits(const Resize& resize, const std::string& why);
  /// A container's limits by the journal could not be set.
  /// @param awaited  a revision of the pod's grant counts as applied only when they are set
  void not_set(const JournalEntry& entry, const Error& why, bool awaited);
  void refused(const NodePod& pod, const std::string& sentence);

 private:
  void report(const NodePod& pod, kube::EventNote::Type type, std::string reason,
              std::string note) const;

  const ReportEvent report_event_;
  const Clock& clock_;
  kube::RateLimiter refusal_lines_;  ///< of the log
  ReportedReasons reasons_;
};

}  // namespace tangram::node
