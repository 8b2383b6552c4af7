#include "node/resize/resize_reports.hpp"

#include <spdlog/spdlog.h>

#include <utility>

namespace tangram::node {
namespace {

/// Lines of the log about refusals, in the long run and at once: who may change a pod's annotations
/// can cause one at each look. Events have limits of their own.
constexpr std::chrono::seconds kRefusalLine{10};
constexpr int kRefusalLines = 20;

}  // namespace

ResizeReports::ResizeReports(ReportEvent report_event, const Clock& clock)
    : report_event_(std::move(report_event)),
      clock_(clock),
      refusal_lines_(kRefusalLine, kRefusalLines, clock) {}

void ResizeReports::resized(const Resize& resize) {
  spdlog::info("pod {} was resized: {}", resize.pod->pod.full_name(), describe_wanted(resize));
  report(resize.pod->pod, kube::EventNote::Type::kNormal, "Resized", describe_wanted(resize));
}

void ResizeReports::waits(const Resize& resize, const std::string& why) {
  if (!reasons_.is_due(resize.allocation, why, clock_.now())) return;
  const std::string note = "container " + resize.claim.container + " waits for its resize: " + why;
  spdlog::warn("pod {}: {}", resize.pod->pod.full_name(), note);
  report(resize.pod->pod, kube::EventNote::Type::kWarning, "ResizeWaits", note);
}

void ResizeReports::not_set(const JournalEntry& entry, const Error& why, bool awaited) {
  if (!reasons_.is_due(entry.name, why.message, clock_.now())) return;
  const bool is_unknown = why.code == Errc::kNotFound;
  const std::string note = "the memory limits of container " + entry.claim->container +
                           " are left as they are for now: " + why.message +
                           (is_unknown ? "; they are set when the container starts again" : "");
  spdlog::warn("pod {}/{}: {}", entry.claim->ns, entry.claim->pod, note);
  // A container that was prepared, and has not started yet, is no event.
  if (is_unknown && !awaited) return;
  NodePod pod;
  pod.uid = entry.claim->pod_uid;
  pod.ns = entry.claim->ns;
  pod.name = entry.claim->pod;
  report(pod, kube::EventNote::Type::kWarning, "ResizeWaits", note);
}

void ResizeReports::refused(const NodePod& pod, const std::string& sentence) {
  if (refusal_lines_.reserve(std::chrono::nanoseconds(0))) {
    spdlog::warn("pod {} is not resized: {}", pod.full_name(), sentence);
  }
  report(pod, kube::EventNote::Type::kWarning, "ResizeRefused", sentence);
}

void ResizeReports::report(const NodePod& pod, kube::EventNote::Type type, std::string reason,
                           std::string note) const {
  report_event_(kube::EventNote{.kind = "Pod",
                                .ns = pod.ns,
                                .name = pod.name,
                                .uid = pod.uid,
                                .type = type,
                                .reason = std::move(reason),
                                .action = "Resizing",
                                .note = std::move(note)});
}

}  // namespace tangram::node
