#include "node/resize/resize_check.hpp"

#include "tests/node/resize/resize_rig.hpp"

#include <gtest/gtest.h>

namespace tangram::node {
namespace {

class ResizeCheckTest : public ::testing::Test {
 protected:
  std::optional<Resize> resize(const model::Grant& now, const model::Grant& later,
                               const std::string& means = "library") {
    rig.start("a", now, means);
    rig.annotate("a", later);
    return resize_of(*rig.journal->find("a.main"), rig.pods.find("uid-a"));
  }
  ResizeRig rig;
  const model::Grant first = ResizeRig::grant("a", 0, {share(8192, 500)});
};

TEST_F(ResizeCheckTest, OnlyALaterRevisionResizes) {
  EXPECT_FALSE(resize(first, first));
  model::Grant later = ResizeRig::grant("a", 1, {share(4096, 500)});
  EXPECT_TRUE(resize(first, later));
  later.issued_at = "2026-01-02T00:00:00Z";
  EXPECT_FALSE(resize(first, later)) << "another grant";
}

TEST_F(ResizeCheckTest, TellsWhatGrows) {
  const auto of = [&](const model::GrantedCard& card) {
    return *resize(first, ResizeRig::grant("a", 1, {card}));
  };
  EXPECT_FALSE(grows(of(share(4096, 250))));
  EXPECT_TRUE(grows(of(share(4096, 600))));
  EXPECT_TRUE(grows(of(share(9000, 250))));
  model::GrantedCard burst = share(8192, 500);
  burst.memory_limit = Mebibytes(10'000);
  EXPECT_FALSE(grows(of(burst))) << "scheduling counts requests";
  EXPECT_TRUE(of(burst).cards[0].sets_memory());
  EXPECT_FALSE(of(burst).cards[0].lowers_memory());
}

TEST_F(ResizeCheckTest, AContainerOfAnEarlierAgentKeepsItsMemoryLimit) {
  const auto memory = resize(first, ResizeRig::grant("a", 1, {share(4096, 500)}), "sorcery");
  ASSERT_TRUE(cannot_change(*memory));
  EXPECT_EQ(cannot_change(*memory)->find("an earlier version of the agent"), 0U);
  const auto compute = resize(first, ResizeRig::grant("a", 1, {share(8192, 250)}), "sorcery");
  EXPECT_FALSE(cannot_change(*compute));
}

TEST_F(ResizeCheckTest, AContainerThatWasNeverPreparedCanBeChanged) {
  const model::Grant mps = ResizeRig::grant("a", 0, {share(8192, 500)}, model::Isolation::kMps);
  auto change =
      resize(mps, ResizeRig::grant("a", 1, {share(4096, 250)}, model::Isolation::kMps), "mps");
  EXPECT_TRUE(cannot_change(*change));
  change->started = false;
  EXPECT_FALSE(cannot_change(*change));
}

TEST_F(ResizeCheckTest, LimitsAreSetAgainByTheMeansThatCanChangeThem) {
  for (const auto means : {model::MemoryLimits::kLibrary, model::MemoryLimits::kDriver}) {
    rig.start("a", first, std::string(to_string(means)));
    EXPECT_EQ(changeable_cards(*rig.journal->find("a.main")),
              (CardsByMeans{{means, {share(8192, 500)}}}));
  }
  rig.start("a", first, "mps");
  EXPECT_TRUE(changeable_cards(*rig.journal->find("a.main")).empty());
  EXPECT_TRUE(
      changeable_cards({.name = "b", .slots = {}, .allocated_at = "", .claim = {}}).empty());
}

TEST_F(ResizeCheckTest, OfAnEarlierAgentTheDriversLimitIsNotSetAgain) {
  rig.boot_id.clear();
  const auto change = resize(first, ResizeRig::grant("a", 1, {share(4096, 500)}), "driver");
  EXPECT_TRUE(changeable_cards(*rig.journal->find("a.main")).empty());
  ASSERT_TRUE(cannot_change(*change));
  EXPECT_EQ(cannot_change(*change)->find("an earlier version of the agent"), 0U);
}

TEST_F(ResizeCheckTest, TellsWhichLimitsAreLoweredFirst) {
  const auto shrink = resize(first, ResizeRig::grant("a", 1, {share(4096, 500)}), "driver");
  EXPECT_EQ(lowered_cards(*shrink),
            (CardsByMeans{{model::MemoryLimits::kDriver, {share(4096, 500)}}}));
  const auto grow = resize(first, ResizeRig::grant("a", 1, {share(9000, 500)}), "driver");
  EXPECT_TRUE(lowered_cards(*grow).empty());
  const auto nothing = resize(first, ResizeRig::grant("a", 1, {share(4096, 500)}), "none");
  EXPECT_TRUE(lowered_cards(*nothing).empty());
}

}  // namespace
}  // namespace tangram::node
