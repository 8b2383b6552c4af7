// A card fails under running pods: their controller's next pods run on other cards.

#include "tests/e2e/node_fixture.hpp"

#include <algorithm>

namespace tangram::e2e {
namespace {

constexpr int kPods = 8;
constexpr int kAfterSeconds = 10;

class NodeBrokenCardTest : public NodeTest {
 protected:
  NodeBrokenCardTest()
      : evicting_(use_extender("extender-evicting",
                               {"broken_cards.after_s=" + std::to_string(kAfterSeconds),
                                "broken_cards.per_minute=30"})) {}
  ~NodeBrokenCardTest() override {
    remove_replica_sets();
    mend();
  }

  /// Pods that share one card.
  void create_pods(const std::vector<std::string>& program = {"hold"}) {
    create_replica_set("work", kPods, gpu_pod("", {{"gpu-fraction", "0.125"}}, program));
    ASSERT_TRUE(eventually(90s, [&] { return running_but({}) == kPods; }));
  }
  std::ptrdiff_t running_but(const PodStates& others) {
    return std::ranges::count_if(states(), [&](const auto& entry) {
      return !others.contains(entry.first) && entry.second.all_running();
    });
  }
  CardSpec& spec_of(const std::string& card) {
    return *std::ranges::find(cards_, card, &CardSpec::id);
  }
  void fail(const std::string& card) {
    spec_of(card).healthy = false;
    node_.write_cards(cards_);
  }
  void mend() {
    for (CardSpec& card : cards_) card.healthy = true;
    node_.write_cards(cards_);
  }

  ExtenderProcess& evicting_;
};

TEST_F(NodeBrokenCardTest, AllPodsRunElsewhereAndNoneIsStartedThereAgain) {
  create_pods();
  const PodStates first = states();
  const std::string card = card_of(first.begin()->first);
  for (const auto& [name, state] : first) ASSERT_EQ(card_of(name), card) << name;
  expect_all_starts_right();
  starts_.forget();
  const auto begin = TimePoint::clock::now();
  fail(card);
  EXPECT_TRUE(eventually(150s, [&] { return running_but(first) == kPods; }));
  const double seconds = seconds_between(begin, TimePoint::clock::now());
  EXPECT_LE(seconds, kAfterSeconds + 60);
  for (const auto& [name, state] : states()) {
    if (!first.contains(name)) {
      EXPECT_NE(card_of(name), card) << name;
    }
  }
  starts_.read();
  for (const auto& [name, state] : first) EXPECT_TRUE(starts_.of(state.uid).empty()) << name;
  expect_all_starts_right();
  Figures("node_broken_card")
      .add("pods", kPods)
      .add("after_s", kAfterSeconds)
      .add("all_run_elsewhere_s", seconds)
      .add("evicted", evicting_.metric("tangram_broken_card_evictions_total", "evicted"));
}

}  // namespace
}  // namespace tangram::e2e
