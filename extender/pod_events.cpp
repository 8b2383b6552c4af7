#include "extender/pod_events.hpp"

#include <spdlog/spdlog.h>

namespace tangram::extender {

PodEvents::PodEvents(const Parts& parts) : serving_(*parts.serving) {
  if (parts.reporter) recorder_.emplace(parts.api, *parts.reporter, parts.clock);
}

void PodEvents::noted(const cluster::PodName& pod, const cluster::Note& note) {
  if (serving_()) report(pod, to_string(note.finding), "Examine", note.sentence);
}

void PodEvents::report(const cluster::PodName& pod, std::string_view reason,
                       std::string_view action, const std::string& sentence) {
  spdlog::warn("pod {}/{}: {}: {}", pod.ns, pod.name, reason, sentence);
  if (!recorder_) return;
  recorder_->record({.kind = "Pod",
                     .ns = pod.ns,
                     .name = pod.name,
                     .uid = pod.uid,
                     .type = kube::EventNote::Type::kWarning,
                     .reason = std::string(reason),
                     .action = std::string(action),
                     .note = sentence});
}

void PodEvents::flush(std::chrono::milliseconds limit) {
  if (recorder_) recorder_->flush(limit);
}

}  // namespace tangram::extender
