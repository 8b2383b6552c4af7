// Many pods at once on one real node: every container sees its own card, soon after the bind.

#include "tests/e2e/node_fixture.hpp"

#include <algorithm>

namespace tangram::e2e {
namespace {

constexpr auto kSettleLimit = 120s;

class NodeBurstTest : public NodeTest {
 protected:
  /// Seconds from the bind, as the watch showed it, to the start of the pod's first container.
  static double bind_to_start(const SeenPod& pod, const std::vector<Start>& starts) {
    // The container's program records wall time, the watch monotonic time.
    const auto offset =
        WallTime::clock::now().time_since_epoch() -
        std::chrono::duration_cast<WallTime::duration>(TimePoint::clock::now().time_since_epoch());
    const auto bound = WallTime(
        std::chrono::duration_cast<WallTime::duration>(pod.bound.time_since_epoch()) + offset);
    const auto first = std::ranges::min_element(starts, {}, &Start::at);
    return std::chrono::duration<double>(first->at - bound).count();
  }

  /// One pod after another. @returns seconds from bind to start
  std::vector<double> one_by_one(const std::string& prefix, bool with_card, int count) {
    std::vector<double> seconds;
    PodWatcher watcher(*api_);
    for (int i = 0; i < count; ++i) {
      const std::string name = prefix + std::to_string(i);
      create(with_card ? gpu_pod(name, {{"gpu-fraction", "0.1"}}) : plain_pod(name));
      const auto pod = watcher.wait_pod_bound(name, 30s);
      if (!pod || !wait_starts(pod->uid, "main", 1, 30s)) {
        ADD_FAILURE() << name << " was not started";
        return seconds;
      }
      seconds.push_back(bind_to_start(*pod, starts_.of(pod->uid)));
    }
    return seconds;
  }
};

TEST_F(NodeBurstTest, EveryContainerSeesItsOwnCard) {
  const int rounds = sized(20, 2);
  const int pods = 40;
  auto random = seeded_random();
  int wrong = 0;
  int stuck = 0;
  int starts = 0;
  std::vector<double> waits;
  std::vector<double> binds;
  for (int round = 0; round < rounds; ++round) {
    starts_.forget();
    PodWatcher watcher(*api_);
    scheduler_->signal(SIGSTOP);  // so that they are bound in one burst
    create(random_pods(pods, "burst-" + std::to_string(round), random));
    scheduler_->signal(SIGCONT);
    ASSERT_TRUE(watcher.wait_bound(pods, 60s));
    wait_all_settled(kSettleLimit);

    for (const auto& [name, pod] : states()) {
      if (pod.all_running()) continue;
      ++stuck;
      ADD_FAILURE() << "round " << round << ": " << name << " is stuck: " << describe(pod);
    }
    checker_.learn(*api_);
    const auto verdict = checker_.check(starts_.read());
    EXPECT_TRUE(verdict.problems.empty()) << "round " << round << ": " << verdict.summary();
    wrong += static_cast<int>(verdict.problems.size());
    starts += verdict.with_gpu;
    expect_books_right();
    TimePoint first = TimePoint::max();
    TimePoint last = TimePoint::min();
    for (const auto& [uid, pod] : watcher.pods()) {
      const auto own = starts_.of(uid);
      if (pod.deleted || own.empty()) continue;
      waits.push_back(bind_to_start(pod, own));
      first = std::min(first, pod.bound);
      last = std::max(last, pod.bound);
    }
    binds.push_back(seconds_between(first, last));
    remove_pods();
  }
  EXPECT_EQ(stuck, 0);
  Figures("node_burst")
      .add("rounds", rounds)
      .add("pods", rounds * pods)
      .add("gpu_containers", starts)
      .add("wrong", wrong)
      .add("stuck", stuck)
      .add("first_to_last_bind_s", percentile(binds, 50))
      .spread("bind_to_start_s", waits);
}

TEST_F(NodeBurstTest, StartsHardlyLaterThanAPodWithoutCard) {
  const int count = sized(40, 5);
  // Alternates, so that both see equal load.
  std::vector<double> plain;
  std::vector<double> with_card;
  constexpr int kTurn = 5;
  for (int turn = 0; turn * kTurn < count; ++turn) {
    const std::string number = std::to_string(turn) + "-";
    std::ranges::copy(one_by_one("plain-" + number, false, kTurn), std::back_inserter(plain));
    std::ranges::copy(one_by_one("gpu-" + number, true, kTurn), std::back_inserter(with_card));
    expect_all_starts_right();
    remove_pods();
  }
  Figures("node_bind_to_start")
      .add("pods_each", static_cast<int>(plain.size()))
      .spread("without_card_s", plain)
      .spread("with_card_s", with_card);
  // The agent waits 30 ms (spec_delay) after it writes a card's CDI spec, so that the container
  // runtime has read it.
  EXPECT_LT(percentile(with_card, 50), percentile(plain, 50) + 0.3);
}

}  // namespace
}  // namespace tangram::e2e
