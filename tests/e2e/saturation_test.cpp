// More pods than room: few failed binds, and no long wait when room appears.

#include "tests/e2e/fixture.hpp"

#include <algorithm>

namespace tangram::e2e {
namespace {

class SaturationTest : public E2eTest {
 protected:
  void start() {
    extender_.start_ready();
    scheduler_.emplace(start_scheduler({.extender_url = extender_.url()}));
  }

  /// All pods that fit are bound: no node fits a pending pod.
  void expect_nobody_fits(const SeenPods& pods) {
    constexpr int kExamined = 50;  // an answer names every node; more would take minutes
    int examined = 0;
    for (const auto& [uid, pod] : pods) {
      if (pod.deleted || !pod.node.empty() || ++examined > kExamined) continue;
      EXPECT_THAT(extender_.get("/api/v1/explain?namespace=default&pod=" + pod.name),
                  ::testing::HasSubstr("\"fittingNodes\":0"))
          << pod.name;
    }
  }

  ExtenderProcess extender_{{}};
  std::optional<Process> scheduler_;
};

class RefusalTest : public E2eTest {
 protected:
  /// More pods than room. @returns refused binds per bound pod
  double refused_per_bound(const std::string& name, std::vector<std::string> settings) {
    ExtenderProcess extender({.settings = std::move(settings)});
    const int nodes = sized(200, 30);
    cluster_.add_nodes(mixed_nodes(nodes));
    PodWatcher watcher(*api_);
    extender.start_ready();
    const Process scheduler = start_scheduler({.extender_url = extender.url()});
    // A twelfth of them requests four whole cards; the cards hold about 10 pods a node.
    const int pods = 15 * nodes;
    cluster_.add_pods(mixed_pods(pods));
    EXPECT_TRUE(watcher.wait_bound(6 * nodes, 5min));
    EXPECT_TRUE(watcher.wait_calm(5s, 5min));

    const int bound = count_bound(watcher.pods());
    EXPECT_LT(bound, pods) << "the cluster was not full";
    expect_books_right(extender);
    const double refused = extender.metric("tangram_binds_total", "no_room") +
                           extender.metric("tangram_binds_total", "refused");
    Figures(name)
        .add("nodes", nodes)
        .add("pods", pods)
        .add("bound", bound)
        .add("refused", static_cast<int>(refused))
        .add("refused_per_bound", refused / bound);
    return refused / bound;
  }
};

TEST_F(RefusalTest, SaturationRefusesFewBinds) {
  EXPECT_LT(refused_per_bound("refused_binds", {}), 0.01);
}

// The same without reservations between filter and bind, for comparison.
TEST_F(RefusalTest, SaturationWithoutHoldsIsExactToo) {
  refused_per_bound("refused_binds_without_holds", {"scheduler.hold_ttl_ms=0"});
}

/// A full cluster of whole-card pods, and more of them waiting.
class RoomTest : public SaturationTest {
 protected:
  static constexpr int kCards = 8;

  void fill(int nodes, int backlog) {
    for (int i = 0; i < nodes; ++i) {
      nodes_.push_back(node_with_cards("node-" + std::to_string(i), kCards));
      nodes_.back().slots = 4 * kCards * 16;  // so that slots are never the limit
    }
    cluster_.add_nodes(nodes_);
    watcher_.emplace(*api_);
    start();
    std::vector<PodSpec> pods;
    room_ = nodes * kCards;
    for (int i = 0; i < room_ + backlog; ++i) {
      pods.push_back(fraction_pod("pod-" + std::to_string(i), "1"));
    }
    cluster_.add_pods(pods);
    ASSERT_TRUE(watcher_->wait_bound(room_, 2min));
    // Back-off grows with failed attempts; this tests the longest.
    watcher_->wait_calm(15s, 1min);
  }

  struct Step {
    std::function<void(int)> prepare = [](int) {};  ///< before the clock starts
    std::function<void(int)> make_room;
  };
  /// Makes room `times` times. @returns how long it took each time until a waiting pod was bound,
  /// in seconds; a wait of more than a minute fails the test
  std::vector<double> waits(int times, const Step& step) {
    std::vector<double> found;
    for (int i = 0; i < times; ++i) {
      step.prepare(i);
      // Nothing else happens, as when a long job ends in a quiet cluster.
      watcher_->wait_calm(1s, 1min);
      const auto begin = TimePoint::clock::now();
      step.make_room(i);
      const auto taken = [&](const SeenPods& seen) { return bound_since(seen, begin) > 0; };
      if (!watcher_->wait(taken, 1min)) {
        ADD_FAILURE() << "no pod took the room";
        break;
      }
      found.push_back(seconds_between(begin, last_bound(watcher_->pods())));
    }
    return found;
  }

  static int bound_since(const SeenPods& pods, TimePoint begin) {
    return static_cast<int>(std::ranges::count_if(pods, [&](const auto& entry) {
      return entry.second.bind_was_seen && entry.second.bound > begin;
    }));
  }
  static TimePoint last_bound(const SeenPods& pods) {
    TimePoint last;
    for (const auto& [uid, pod] : pods) {
      if (pod.bind_was_seen) last = std::max(last, pod.bound);
    }
    return last;
  }

  void delete_a_bound_pod() {
    for (const auto& [uid, pod] : watcher_->pods()) {
      if (pod.deleted || pod.node.empty()) continue;
      cluster_.delete_pod(pod.name);
      return;
    }
  }

  void delete_pods_on(const std::string& node, const std::string& card) {
    const auto verdict = check_cluster(*api_);
    const auto pods = watcher_->pods();
    for (const auto& uid : verdict.nodes.at(node).at(card).sharers) {
      cluster_.delete_pod(pods.at(uid).name);
    }
  }

  void report(const std::string& cause, int backlog, const std::vector<double>& found,
              double limit) {
    Figures("room_appears").add("cause", cause).add("backlog", backlog).spread("wait_s", found);
    if (limit > 0) {
      EXPECT_LE(percentile(found, 100), limit) << cause;
    }
  }

  /// For a backlog of up to 100 pods, with the shipped podMaxBackoffSeconds.
  static constexpr double kLimitSeconds = 2;
  static constexpr double kNoLimit = 0;

  std::vector<NodeSpec> nodes_;
  std::optional<PodWatcher> watcher_;
  int room_ = 0;
};

TEST_F(RoomTest, IsTakenWithinTwoSeconds) {
  const int backlog = sized(100, 40);
  const int times = sized(20, 5);
  fill(4, backlog);
  report("pod_deleted", backlog, waits(times, {.make_room = [&](int) { delete_a_bound_pod(); }}),
         kLimitSeconds);

  // An unhealthy card takes no new pod; the one on it ends, and later the card is healthy again.
  auto& node = nodes_.front();
  auto& card = node.cards.front();
  const auto set_health = [&](bool healthy) {
    card.healthy = healthy;
    cluster_.set_cards(node.name, node.cards);
  };
  const auto sicken = [&](int) {
    set_health(false);
    delete_pods_on(node.name, card.id);
  };
  report("card_healed", backlog,
         waits(times, {.prepare = sicken, .make_room = [&](int) { set_health(true); }}),
         kLimitSeconds);

  const auto add_node = [&](int i) {
    cluster_.add_nodes({node_with_cards("new-" + std::to_string(i), 1)});
  };
  report("node_added", backlog, waits(times, {.make_room = add_node}), kLimitSeconds);
  expect_books_right(extender_);
}

TEST_F(RoomTest, IsTakenBehindALongBacklogToo) {
  const int backlog = sized(1'000, 100);
  fill(4, backlog);
  report("pod_deleted", backlog,
         waits(sized(20, 3), {.make_room = [&](int) { delete_a_bound_pod(); }}), kNoLimit);
}

}  // namespace
}  // namespace tangram::e2e
