#pragma once

#include "base/clock.hpp"
#include "base/required.hpp"
#include "base/result.hpp"
#include "cluster/cluster_feed.hpp"
#include "cluster/disruption_budgets.hpp"
#include "cluster/pod_groups.hpp"
#include "cluster/pod_table.hpp"
#include "cluster/policy_source.hpp"
#include "cluster/shared_ledger.hpp"
#include "config/config.hpp"
#include "extender/admission/admission_metrics.hpp"
#include "extender/admission/service.hpp"
#include "extender/background.hpp"
#include "extender/broken_card_pods.hpp"
#include "extender/card_preemptor.hpp"
#include "extender/cluster_metrics.hpp"
#include "extender/defragmenter.hpp"
#include "extender/evictor.hpp"
#include "extender/health_routes.hpp"
#include "extender/leadership.hpp"
#include "extender/listeners.hpp"
#include "extender/page/packing_stream.hpp"
#include "extender/pod_events.hpp"
#include "extender/scheduling/binder.hpp"
#include "extender/scheduling/denials.hpp"
#include "extender/scheduling/group_reservations.hpp"
#include "extender/scheduling/move_places.hpp"
#include "extender/scheduling/offers.hpp"
#include "extender/scheduling/promises.hpp"
#include "extender/scheduling/resizer.hpp"
#include "extender/scheduling/routes.hpp"
#include "extender/scheduling/verbs.hpp"
#include "extender/waker.hpp"
#include "kube/access/metrics_access.hpp"
#include "kube/grant_keys.hpp"
#include "kube/reflector.hpp"
#include "policies/fragmentation_measure.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tangram::extender {

/// The extender service, whole: feeds the ledger from the API server and answers over HTTP.
/// Wiring only. Starts with create() and stops with stop() or its end.
/// Threads: its own; the public calls are safe from any.
class App {
 public:
  struct Parts {
    kube::KubeApi& api;  ///< outlives the app
    const Clock& clock;  ///< outlives the app
    /// This replica among several; nothing = the only one, which binds without an election.
    Required<std::optional<Replica>> replica;
    std::function<double()> random = nullptr;  ///< 0 <= x < 1; needed among several
    /// The name under which events about pods are written; nothing = none are written.
    std::optional<kube::EventReporter> reporter = std::nullopt;
    /// The service's own namespace, where waiting pods are woken; empty = they are not.
    std::string ns = {};
    /// For embedding: what the fragmentation policy aims at, instead of the configured file.
    std::shared_ptr<const policies::Workload> workload = nullptr;
    /// For embedding: what is learned from a pod is in force when the next one is placed, so that
    /// equal runs place alike; else a thread of its own learns.
    bool learn_at_once = false;
    /// For embedding: routes beside the service's own.
    std::function<void(http::Router&)> more_routes = nullptr;
  };

  /// Listens and begins to read the cluster. @returns kInvalidArgument, kNotFound if a file or
  /// policy that the configuration names is not usable, kUnavailable if the address cannot be
  /// listened on
  static Result<std::unique_ptr<App>> create(const config::Config& config, const Parts& parts);
  ~App();
  App(const App&) = delete;
  App& operator=(const App&) = delete;

  [[nodiscard]] std::uint16_t port() const;
  /// Of the webhook, and of metrics and health; 0 = there is none.
  [[nodiscard]] std::uint16_t webhook_port() const;
  [[nodiscard]] std::uint16_t metrics_port() const;

  /// The ledger holds what the API server has; until then verbs answer with a retryable error.
  [[nodiscard]] bool synced() const;
  /// Verbs are answered: synced, and leading where there is an election.
  [[nodiscard]] bool serving() const { return not_ready().empty(); }

  /// For embedding (replay, tests).
  [[nodiscard]] cluster::SharedLedger& ledger() { return ledger_; }
  [[nodiscard]] const cluster::PodTable& pods() const { return pods_; }

  /// Begins no more binds, ends those under way, gives the Lease back, stops accepting, answers
  /// what is under way, then stops everything. Blocks; safe to repeat.
  void stop();

 private:
  using GrantKeysPtr = std::unique_ptr<kube::GrantKeys>;
  App(const config::Config& config, const Parts& parts, cluster::PolicySettings policy_settings,
      GrantKeysPtr grant_keys);

  using Report = std::function<void(const cluster::PodName&, std::string_view reason,
                                    const std::string& sentence)>;

  // How the parts are connected.
  /// May a write that takes so long be sent now by a part that acts on its own?
  [[nodiscard]] std::function<bool(std::chrono::milliseconds)> writes_of_the_leader();
  /// Writes events with that action.
  /// @param action  a literal: it is not copied
  [[nodiscard]] Report reporter(const char* action);
  [[nodiscard]] Binder::Parts binder_parts();
  [[nodiscard]] Verbs::Parts verb_parts();
  [[nodiscard]] Resizer::Parts resizer_parts();
  [[nodiscard]] Evictor::Parts evictor_parts();
  [[nodiscard]] Evictor::Parts card_evictor_parts();
  [[nodiscard]] Waker::Parts waker_parts();
  [[nodiscard]] CardPreemptor::Parts card_preemptor_parts();
  [[nodiscard]] Defragmenter::Parts defragmenter_parts();
  [[nodiscard]] ClusterMetrics::Parts metrics_parts();
  [[nodiscard]] Collectables collectables() const;
  [[nodiscard]] std::vector<Task> tasks();
  [[nodiscard]] Serving serve_metrics(bool aside);
  Result<void> listen(const config::Config& config);
  bool finish_binds();
  Result<void> join_election(const config::Config& config);

  /// May a write that takes so long be sent now?
  [[nodiscard]] bool may_write(std::chrono::milliseconds takes) const;
  [[nodiscard]] bool leads() const;
  /// Counts the times that this replica became the leader.
  [[nodiscard]] std::uint64_t term() const;
  /// Does the ledger follow the API server?
  [[nodiscard]] bool following() const;
  /// Null = not known.
  [[nodiscard]] std::shared_ptr<const cluster::BudgetList> budgets() const;
  /// Why no verb can be answered now; empty = all is well.
  [[nodiscard]] std::string_view not_ready() const;
  void examine_cards();
  void reload_grant_keys();
  void list_budgets_again();
  void report_as_new_leader();
  void evict_stuck_pods();
  void evict_from_broken_cards();

  Parts parts_;
  GrantKeysPtr grant_keys_;  ///< null = grants are neither signed nor checked
  const model::SignatureCheck check_;
  cluster::SharedLedger ledger_;
  cluster::FeedCounters counters_;
  cluster::PolicySource policies_;
  PodEvents pod_events_;
  cluster::PodTable pods_;
  Offers offers_;
  Promises promises_;
  Denials denials_;
  GroupAttempts group_attempts_;
  cluster::PodGroups pod_groups_;
  GroupReservations group_reservations_;
  MovePlaces move_places_;
  Binder binder_;
  AdmissionMetrics admission_metrics_;
  AdmissionService admission_;
  Verbs verbs_;
  VerbRoutes verb_routes_;
  cluster::DisruptionBudgets budgets_;
  // Of the thread of the repeated tasks.
  Resizer resizer_;
  Evictor evictor_;
  BrokenCardPods broken_card_pods_;
  Evictor card_evictor_;
  std::uint64_t examined_version_ = 0;  ///< of the ledger
  std::uint64_t reported_term_ = 0;
  Waker waker_;
  CardPreemptor card_preemptor_;
  Evicting relocation_;
  Defragmenter defragmenter_;
  cluster::NodeFeed node_feed_;
  cluster::PodFeed pod_feed_;
  kube::Reflector node_reflector_;
  kube::Reflector pod_reflector_;
  kube::Reflector budget_reflector_;
  const std::vector<kube::ReflectorOptions> pod_group_watches_;
  ClusterMetrics cluster_metrics_;
  PackingStream news_;
  http::PageQueue pages_;
  http::PageQueue scrapes_;  ///< its own, so that pages do not delay metrics
  std::unique_ptr<kube::MetricsAccess> metrics_access_;  ///< null = metrics are for every client
  std::unique_ptr<Leadership> leadership_;               ///< null = the only replica
  Listeners listeners_;
  std::atomic<bool> stopping_{false};
  Background background_;  ///< last, so that it ends first
};

}  // namespace tangram::extender
