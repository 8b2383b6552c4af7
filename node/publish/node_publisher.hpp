#pragma once

#include "base/clock.hpp"
#include "base/required.hpp"
#include "kube/event_series.hpp"
#include "kube/rate_limiter.hpp"
#include "kube/reflector.hpp"
#include "node/publish/node_labels.hpp"
#include "node/publish/node_record.hpp"

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace tangram::node {

struct PublisherSettings {
  std::string node;  ///< the name of the agent's own Node
  RecordSettings record;
  std::optional<LabelSettings> labels = std::nullopt;  ///< nothing = the vendor has no labels
};

/// Publishes cards, labels, capacities and resizes of pods in the agent's own Node, and the
/// vendor's labels after them.
///
/// Level-triggered: it watches the Node, compares it with the record, and writes the difference,
/// whatever caused it: kubelet, which zeroes capacities, an operator, a new Node, or changed cards.
/// One write at a time. After a failure, including 409, it waits, 0.1 s and doubling up to 30 s,
/// and compares again. Against another writer it writes at most ten times at once, then once in
/// five seconds. Vendor's labels that the API server refuses are tried again after ten minutes.
/// Threads: two of its own, between start() and stop(); the calls are safe from any.
class NodePublisher final : private kube::WholeListSink {
 public:
  struct Parts {
    kube::KubeApi& api;  ///< this and the clock outlive the publisher
    const Clock& clock;
    /// The cards as they are; null = not known yet, and nothing is written. Called on the
    /// publisher's thread, as the next three.
    std::function<CardsPtr()> cards;
    /// Nothing = not known yet.
    std::function<std::optional<NodePods>()> pods;
    /// Nothing = not known yet.
    Required<std::function<std::optional<OtherOwners>()>> other_owners;
    /// Takes an event about the Node; must not block.
    std::function<void(kube::EventNote)> report_event = [](const kube::EventNote&) {};
    /// Takes each state of the Node that is read; must not block.
    std::function<void(const OwnNode&)> seen = [](const OwnNode&) {};
    Sleeper sleeper = sleep_until_stopped;
  };
  NodePublisher(PublisherSettings settings, Parts parts);
  ~NodePublisher() override { stop(); }
  NodePublisher(const NodePublisher&) = delete;
  NodePublisher& operator=(const NodePublisher&) = delete;

  void start();
  /// Waits for the write under way. The Node stays as it is. Safe to repeat.
  void stop();

  /// What the parts return may have changed: compares again.
  void changed();

  struct Counts {
    std::uint64_t writes = 0;    ///< that the API server accepted
    std::uint64_t failures = 0;  ///< that it rejected, or without an answer
  };
  [[nodiscard]] Counts counts() const;
  /// The Node, as last read, has the contents of the record.
  [[nodiscard]] bool settled() const;

 private:
  enum class Turn { kNothingToDo, kWrote, kFailed, kTooSoon };
  struct Write {
    std::string_view what;         ///< for people
    std::string_view subresource;  ///< "" = of the Node itself
    std::string patch;
  };

  void replace(std::vector<std::string> objects) override;
  void change(kube::EventType type, std::string_view object) override;

  void run(const std::stop_token& stop);
  Turn take_turn();
  void await_turn(const std::stop_token& stop);
  /// The first difference; nothing = none that is to be written now.
  std::optional<Write> next_write(const CardsNow& cards, const OwnNode& node,
                                  const NodeRecord& record);
  Turn write(const OwnNode& node, Write write);
  Turn refuse_labels(const OwnNode& node, const std::string& answer);
  void see(std::string object);
  void lose(std::string_view version);
  void report_notices(const OwnNode& node, const std::vector<Notice>& notices);
  void report(const Notice& notice, const OwnNode& node) const;

  const PublisherSettings settings_;
  const Parts parts_;
  const std::string path_;
  kube::Reflector reflector_;
  kube::RateLimiter limiter_;
  // Of run()'s thread.
  std::set<Notice> reported_;                   ///< that persist
  std::optional<TimePoint> labels_not_before_;  ///< they were refused; nothing = now

  mutable std::mutex mutex_;
  std::condition_variable_any woken_;
  // Under mutex_.
  std::optional<OwnNode> node_;  ///< nothing = not there, or not read yet
  std::string newest_;           ///< resourceVersion that node_ or its absence is of
  bool changed_ = false;         ///< something may have changed since the last comparison
  bool settled_ = false;
  Counts counts_;

  // Last, so that they end first.
  std::jthread watching_;
  std::jthread writing_;
};

}  // namespace tangram::node
