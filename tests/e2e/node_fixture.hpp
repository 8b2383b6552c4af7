#pragma once

#include "tests/e2e/fixture.hpp"
#include "tests/e2e/node_checker.hpp"
#include "tests/e2e/node_pods.hpp"
#include "tests/e2e/pod_states.hpp"
#include "tests/e2e/real_node.hpp"
#include "tests/e2e/starts.hpp"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace tangram::e2e {

/// A real node without pods, the checker of what containers see, and the running agent,
/// kube-scheduler and extender.
class NodeTest : public ::testing::Test {
 public:
  ~NodeTest() override;

 protected:
  static constexpr int kUsualSharers = 16;

  /// @param cards    of the node; empty = eight of 80 GiB
  /// @param sharers  slots for each card
  explicit NodeTest(std::vector<CardSpec> cards = {}, int sharers = kUsualSharers);

  /// Polls `condition` 50 times a second.
  /// @returns false if it was not true within `limit`
  static bool eventually(std::chrono::milliseconds limit, const std::function<bool()>& condition);

  void create(const NodePod& pod);
  void create(const std::vector<NodePod>& pods);  ///< many at a time
  /// Deletes all pods as users would, and waits until the last one has ended.
  void remove_pods();
  /// Its pods have the label app=NAME.
  void create_replica_set(const std::string& name, int replicas, NodePod pod);
  void remove_replica_sets();
  [[nodiscard]] PodStates states() { return pod_states(*api_); }
  [[nodiscard]] std::string uid_of(const std::string& pod) { return states()[pod].uid; }
  /// Blocks until every container of every pod runs, or the pod has ended.
  bool wait_all_settled(std::chrono::seconds limit);
  /// Blocks until the container has started `count` times in all.
  bool wait_starts(const std::string& uid, const std::string& container, int count,
                   std::chrono::seconds limit);

  [[nodiscard]] std::vector<std::string> agent_arguments() const;
  void start_agent();  ///< with this test's settings; returns when kubelet offers its slots
  [[nodiscard]] int slots_offered();            ///< allocatable, in the Node's status
  [[nodiscard]] std::string cards_published();  ///< the Node's annotation; "" = none
  bool wait_node_offers_slots(std::chrono::seconds limit);
  /// How often the agents of this log have published their slots to kubelet.
  [[nodiscard]] int times_published() const;
  /// After a program was killed the Node's status shows for a while what was before: waits until
  /// the agent has published its slots once more than `before` times, and the Node offers them.
  bool wait_slots_published_after(int before, std::chrono::seconds limit);
  [[nodiscard]] std::string agent_log() const;
  /// On the same port; returns when the API server answers.
  void restart_apiserver();

  /// From now on kube-scheduler asks an extender with these settings instead of the usual one.
  ExtenderProcess& use_extender(const std::string& name, std::vector<std::string> settings);
  /// The card of the pod's grant; "" = it has none.
  [[nodiscard]] std::string card_of(const std::string& pod);

  /// No card is over capacity, and every grant is correct.
  void expect_books_right();
  /// Every start since the test began was correct.
  void expect_all_starts_right();

  /// The agent offers at least the slots in kubelet's checkpoint, also of deleted pods, so a test
  /// with few slots clears the checkpoint. The agent does not run meanwhile.
  [[nodiscard]] bool fewer_slots_than_usual() const;
  void forget_allocations();

  std::unique_ptr<kube::KubeApi> api_ = admin_api();
  Cluster cluster_{*api_};
  RealNode node_;
  std::vector<CardSpec> cards_;
  int sharers_;
  NodeChecker checker_;
  Starts starts_{node_.records()};
  ExtenderProcess extender_{{}};
  std::optional<ExtenderProcess> other_extender_;
  std::optional<Process> scheduler_;
};

/// Eight of 80 GiB.
[[nodiscard]] std::vector<CardSpec> eight_cards();

/// A generator whose seed is printed, so that a failure can be repeated:
/// TANGRAM_E2E_SEED=N scripts/e2e test ….
[[nodiscard]] std::mt19937 seeded_random();

}  // namespace tangram::e2e
