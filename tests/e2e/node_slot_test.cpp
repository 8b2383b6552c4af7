// A slot that moves from pod to pod never shows the former pod's card.

#include "tests/e2e/node_fixture.hpp"

#include <algorithm>
#include <set>

namespace tangram::e2e {
namespace {

std::vector<CardSpec> two_cards() { return node_with_cards(RealNode::kName, 2).cards; }

class NodeSlotTest : public NodeTest {
 protected:
  NodeSlotTest() : NodeTest(two_cards(), 2) {}  // four slots
};

TEST_F(NodeSlotTest, AReusedSlotNeverShowsTheFormerPodsCard) {
  const int pods = sized(120, 16);
  auto random = seeded_random();
  std::vector<NodePod> short_ones;
  for (int i = 0; i < pods; ++i) {
    // Half a card or less, each a different amount, so that its card and share can be identified.
    const int thousandths = std::uniform_int_distribution(100, 499)(random);
    auto pod = gpu_pod("short-" + std::to_string(i),
                       {{"gpu-fraction", "0." + std::to_string(thousandths)}}, {"run", "100"});
    pod.restart = "Never";
    short_ones.push_back(std::move(pod));
  }
  create(short_ones);
  EXPECT_TRUE(eventually(std::chrono::seconds(30 + 3 * pods), [&] {
    return std::ranges::all_of(states(),
                               [](const auto& pod) { return pod.second.phase == "Succeeded"; });
  }));
  int failed = 0;
  for (const auto& [name, pod] : states()) failed += pod.phase == "Failed" ? 1 : 0;
  expect_all_starts_right();
  EXPECT_EQ(failed, 0);
  EXPECT_EQ(starts_.read().size(), static_cast<std::size_t>(pods));
  Figures("node_slot_reuse").add("slots", slots_offered()).add("pods", pods).add("failed", failed);
}

}  // namespace
}  // namespace tangram::e2e
