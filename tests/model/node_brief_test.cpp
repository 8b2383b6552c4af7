#include "model/node_brief.hpp"

#include "model/cards.hpp"
#include "model/snapshot.hpp"
#include "tests/testing/builders.hpp"
#include "tests/testing/random.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <iostream>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace tangram::model {
namespace {

NodeState node_of(std::vector<Card> cards) {
  NodeState state = testing::node(testing::inventory("n", std::move(cards)));
  return state;
}

std::vector<Card> cards(std::size_t count) {
  std::vector<Card> all;
  for (std::size_t i = 0; i < count; ++i) all.push_back(testing::card("g" + std::to_string(i)));
  return all;
}

TEST(PackedUseTest, GivesTheSameUseBack) {
  const auto seed = std::random_device{}();
  std::cout << "seed " << seed << std::endl;
  testing::Random random(seed);
  for (int round = 0; round < 10'000; ++round) {
    CardUse use{.memory = Mebibytes(random.below(1 << 22)),
                .compute = MilliGpu(random.below(4096))};
    for (std::int32_t& sharers : use.sharers) sharers = static_cast<int>(random.below(256));
    use.whole = static_cast<int>(random.below(2));
    const auto word = packed(use);
    ASSERT_TRUE(word);
    EXPECT_EQ(*word >> (64U - kSpareBits), 0U);
    EXPECT_EQ(unpacked(*word), use);
  }
  EXPECT_EQ(packed(CardUse()), PackedUse{0});
}

TEST(PackedUseTest, PacksNothingThatHasNoPlaceInAWord) {
  const std::vector<std::function<void(CardUse&)>> too_much{
      [](CardUse& use) { use.memory = Mebibytes(1 << 22); },
      [](CardUse& use) { use.memory = Mebibytes(-1); },
      [](CardUse& use) { use.memory = Mebibytes(std::numeric_limits<std::int64_t>::max()); },
      [](CardUse& use) { use.compute = MilliGpu(4096); },
      [](CardUse& use) { use.compute = MilliGpu(-1); },
      [](CardUse& use) { use.sharers[0] = 256; },
      [](CardUse& use) { use.sharers[2] = -1; },
      [](CardUse& use) { use.whole = 2; },
      [](CardUse& use) {
        use.sharers[0] = 0;
        use.compute = MilliGpu(1);
      },
  };
  for (std::size_t i = 0; i < too_much.size(); ++i) {
    CardUse use;
    use.sharers = {1, 0, 0};
    too_much[i](use);
    EXPECT_EQ(packed(use), std::nullopt) << i;
  }
}

TEST(NodeBriefTest, SaysWhatScoringTakesIntoAccount) {
  NodeState node = node_of(cards(2));
  node.use[1] = {.memory = Mebibytes(1000), .compute = MilliGpu(300), .sharers = {1, 0, 0}};
  node.requested.cpu = MilliCpu(1'500);
  const NodeBrief brief = brief_of(node);
  EXPECT_EQ(brief.make, node.make.get());
  EXPECT_EQ(brief.node, &node);
  EXPECT_EQ(unpacked(brief.use[0]), node.use[0]);
  EXPECT_EQ(unpacked(brief.use[1]), node.use[1]);
  EXPECT_EQ(brief.use[2], 0U);
  EXPECT_EQ(brief.idle, MilliGpu(1700));
  EXPECT_EQ(brief.free_cpu, node.free_cpu());
  EXPECT_EQ(brief.cpu, node.inventory->cpu);
  EXPECT_EQ(brief.memory, node.inventory->memory);
}

TEST(NodeBriefTest, ThereIsNoneOfANodeThatItCannotDescribe) {
  const auto has_brief = [](const NodeState& node) { return brief_of(node).make != nullptr; };
  EXPECT_TRUE(has_brief(node_of(cards(NodeBrief::kMostCards))));
  EXPECT_FALSE(has_brief(node_of(cards(NodeBrief::kMostCards + 1))));
  EXPECT_FALSE(has_brief(node_of({})));
  EXPECT_FALSE(has_brief(node_of({testing::card("a", "A100"), testing::card("b", "T4")})));
  NodeState gone = node_of(cards(1));
  gone.present = false;
  EXPECT_FALSE(has_brief(gone));
  NodeState crowded = node_of(cards(2));
  crowded.use[1].compute = MilliGpu(5000);
  EXPECT_FALSE(has_brief(crowded));
}

TEST(NodeBriefTest, ASnapshotHasTheBriefOfEachNodeAsItIsThere) {
  NodeTable table;
  table.put(node_of(cards(1)));
  const auto before = table.publish();
  NodeState changed = table.checkout("n");
  changed.use[0] = {.memory = Mebibytes(1), .compute = MilliGpu(1), .sharers = {1, 0, 0}};
  table.put(std::move(changed));
  const auto after = table.publish();
  for (const auto& cluster : {before, after}) {
    const auto found = cluster->lookup("n");
    ASSERT_TRUE(found);
    const NodeBrief& brief = cluster->brief(found->index);
    EXPECT_EQ(brief.node, found->node);
    EXPECT_EQ(unpacked(brief.use[0]), found->node->use[0]);
  }
  NodeState gone = table.checkout("n");
  gone.present = false;
  table.put(std::move(gone));
  EXPECT_EQ(table.publish()->brief(0).make, nullptr);
}

}  // namespace
}  // namespace tangram::model
