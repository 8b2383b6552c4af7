#pragma once

#include "base/clock.hpp"
#include "base/required.hpp"
#include "cluster/findings.hpp"
#include "cluster/pod_observer.hpp"
#include "kube/events.hpp"

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace tangram::extender {

/// Reports what is wrong with pods, to the log and as events, if this replica is the one that
/// serves: the others find the same. Threads: safe; never blocks.
class PodEvents final : public cluster::PodObserver {
 public:
  struct Parts {
    kube::KubeApi& api;  ///< this and the clock outlive it
    const Clock& clock;
    std::optional<kube::EventReporter> reporter;  ///< nothing = no events are written
    Required<std::function<bool()>> serving;      ///< is this the replica that reports?
  };
  explicit PodEvents(const Parts& parts);

  void noted(const cluster::PodName& pod, const cluster::Note& note) override;
  /// Reports even where another replica serves.
  void report(const cluster::PodName& pod, std::string_view reason, std::string_view action,
              const std::string& sentence);
  /// Waits, at most so long, until the events so far are written.
  void flush(std::chrono::milliseconds limit);

 private:
  const std::function<bool()> serving_;
  std::optional<kube::EventRecorder> recorder_;
};

}  // namespace tangram::extender
