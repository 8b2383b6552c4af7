#pragma once

#include "base/clock.hpp"
#include "base/required.hpp"
#include "kube/event_series.hpp"
#include "model/resizes.hpp"
#include "node/audit/memory_meter.hpp"
#include "node/pods/pod_requests.hpp"
#include "node/resize/limits_in_force.hpp"
#include "node/resize/pod_resizes.hpp"
#include "node/resize/resize_check.hpp"
#include "node/resize/resize_reports.hpp"

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tangram::node {

/// Applies later revisions of grants to running containers, and publishes for each pod which
/// revision its containers have.
///
/// For each allocation in the journal, at each look:
///
///     later revision ── it cannot be changed, no room, or more in use ──> refused
///           │                                                                ^
///           │ memory limits that shrink are set           more is in use:    │
///           v                                             the old limits again
///       lowered ── after 200 ms, compared again ─────────────────────────────┘
///           │
///           v
///       recorded in the journal ──> memory limits that grow are set: applied
///
/// The limits of a running container are never above what the journal says (LimitsInForce), and
/// what others get is decided by the journal. So the agent may end between any two steps: restore()
/// sets the limits by the journal, and what is not recorded starts again. A smaller limit is in
/// force before the memory in use is compared with it, for else the container could take more in
/// between; it is compared before the limit is set, too, so that a container that uses more is not
/// disturbed every second.
///
/// A revision is published as applied once its limits are in force. It is not where nothing says
/// what the limits of a container are that may run. Until then the pod counts with the larger of
/// its former amounts and those in the journal.
///
/// The limits of a container that does not run are set when it starts, so its resize takes the same
/// steps. A resize that cannot go on now is reported, with the reason (ResizeReports).
///
/// A refusal for what is in use is decided again at each look. The other refusals of a revision are
/// final, across restarts, too: the extender takes it back.
///
/// What counts: a revision that model::revises() the claim's grant and vouched_no_weaker(). Another
/// later one is refused. An older grant has no effect.
///
/// Threads: run() and look() on one, the rest from any. Holds Journal::lock_claims() while it
/// decides and records, but not during calls of the driver or the runtime.
class Resizer {
 public:
  struct Parts {
    const PodSource& pods;
    Journal& journal;
    MemoryLimiters& limiters;
    CardSource& source;
    const Processes& processes;
    ContainerRuntime* runtime;  ///< null = none
    std::function<CardsPtr()> cards;
    /// Whose signature a grant's text carries; empty = no keys.
    Required<model::SignatureCheck> check;
    /// The answers that an earlier agent has published. Without them, if the API server was down at
    /// the start, a grant of before a resize counts for a pod that has not started yet.
    Required<model::ResizeAnswers> previous;
    /// Called after state() has changed.
    Required<std::function<void()>> changed;
    Required<std::function<void(kube::EventNote)>> report_event;
    std::string boot;  ///< the kernel's id of this boot; empty = not known
    const Clock& clock;
  };
  explicit Resizer(Parts parts);

  /// Sets the memory limits of all started containers by the journal. On run()'s thread, before it.
  void restore();

  /// Looks every second, and soon after wake(), until the end.
  void run(const std::stop_token& stop);
  void wake();
  /// Applies what can be applied now. Nothing until all pods are known.
  void look();

  /// Nothing until the first look.
  [[nodiscard]] std::optional<PodResizes> state() const;
  /// As published for the pod; 0 = none.
  [[nodiscard]] int applied_revision(std::string_view pod_uid) const;

  struct Counts {
    std::uint64_t applied = 0;                                               ///< revisions of pods
    std::array<std::uint64_t, model::kResizeRefusalNames.size()> refused{};  ///< by reason
  };
  [[nodiscard]] Counts counts() const;

 private:
  using Counted = std::map<std::pair<std::string, std::string>, Result<std::uint64_t>>;
  /// What a look reads without the lock.
  struct Sight {
    TimePoint since;                                     ///< no older than this
    std::map<std::string, std::vector<MemoryUse>> uses;  ///< as once all is applied; by card
    /// MemoryLimiter::in_use() where limits shrink, by allocation and card.
    Counted counted;
    Result<std::vector<OrphanedMemory>> orphaned;
  };
  enum class Step { kWaits, kLowers, kRefused, kApplied };
  using Sentences = std::map<std::string, std::string, std::less<>>;  ///< by allocation

  std::vector<const Resize*> take_steps(const std::vector<Resize>& due, const Sight& sight,
                                        ResizesRefused& refusals);
  void answer(const ResizesRefused& refusals);
  [[nodiscard]] std::vector<Resize> find_due(ResizesRefused& refusals) const;
  Sight read(const std::vector<Resize>& due);
  [[nodiscard]] Counted count(const std::vector<Resize>& due) const;
  [[nodiscard]] bool is_current(const Resize& resize) const;
  Step step(const Resize& resize, const Sight& sight, ResizeRefused& refusal);
  [[nodiscard]] std::optional<ResizeRefused> final_refusal(const Resize& resize) const;
  [[nodiscard]] Result<void> check_room(const Resize& resize, const Sight& sight) const;
  [[nodiscard]] Result<bool> is_over(const Resize& resize, const CardChange& card,
                                     const Sight& sight) const;
  [[nodiscard]] Result<void> check_use(const Resize& resize, const Sight& sight) const;
  bool record(const Resize& resize);
  void report_resized();
  [[nodiscard]] bool is_awaited(const Claim& claim) const;
  void set_limits(const std::vector<const Resize*>& to_lower);
  Sentences set_by_journal();
  [[nodiscard]] model::ResizeAnswers published() const;
  void report(const model::ResizeAnswers& former, const model::ResizeAnswers& now,
              const ResizesRefused& refusals);

  const Parts parts_;
  // Of run()'s thread.
  MemoryMeter meter_;
  LimitsInForce limits_;
  ResizeReports reports_;
  std::map<std::string, Resize> recorded_;  ///< and not reported yet; by allocation

  mutable std::mutex mutex_;
  std::condition_variable_any woken_;
  // Under mutex_.
  bool awake_ = false;
  bool looked_ = false;
  PodResizes now_;
  Counts counts_;
};

}  // namespace tangram::node
