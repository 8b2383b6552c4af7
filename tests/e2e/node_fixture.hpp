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

/// A real node without pods, with its agent running, kube-scheduler and the extender before it, and
/// the checker of what containers see.
class NodeTest : public ::testing::Test {
 public:
  ~NodeTest() override;

 protected:
  static constexpr int kUsualSharers = 16;

  /// @param cards    of the node; empty = eight of 80 GiB
  /// @param sharers  slots for each card
  explicit NodeTest(std::vector<CardSpec> cards = {}, int sharers = kUsualSharers);

  /// Blocks until `condition`; looked at 50 times a second.
  /// @returns false if it did not come within `limit`
  static bool eventually(std::chrono::milliseconds limit, const std::function<bool()>& condition);

  void create(const NodePod& pod);
  void create(const std::vector<NodePod>& pods);  ///< many at a time
  /// As their owners would, and waits until the last has ended.
  void remove_pods();
  [[nodiscard]] PodStates states() { return pod_states(*api_); }
  [[nodiscard]] std::string uid_of(const std::string& pod) { return states()[pod].uid; }
  /// Blocks until every container of every pod runs, or the pod has ended.
  bool wait_all_settled(std::chrono::seconds limit);
  /// Blocks until that container has started `count` times in all.
  bool wait_starts(const std::string& uid, const std::string& container, int count,
                   std::chrono::seconds limit);

  [[nodiscard]] std::vector<std::string> agent_arguments() const;
  void start_agent();  ///< with this test's settings; returns when kubelet has its slots
  [[nodiscard]] int slots_offered();            ///< allocatable, by the Node
  [[nodiscard]] std::string cards_published();  ///< the Node's annotation; "" = none
  bool wait_node_offers_slots(std::chrono::seconds limit);
  [[nodiscard]] std::string agent_log() const;
  /// On the same port; returns when it answers.
  void restart_apiserver();

  /// No card over capacity, every grant right.
  void expect_books_right();
  /// Every start since the test began was right.
  void expect_all_starts_right();

  /// The agent offers at least the slots that kubelet's checkpoint names, those of pods that are
  /// gone too: a test with few slots needs a kubelet that forgets.
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
  std::optional<Process> scheduler_;
};

/// Eight of 80 GiB.
[[nodiscard]] std::vector<CardSpec> eight_cards();

/// A generator with a seed that is printed, so that a failure can be repeated:
/// TANGRAM_E2E_SEED=N scripts/e2e test ….
[[nodiscard]] std::mt19937 seeded_random();

}  // namespace tangram::e2e
