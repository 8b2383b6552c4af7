#include "node/vendor/nvidia/sm_partitions.hpp"

#include "base/file.hpp"
#include "tests/fake_mps/partitions.hpp"
#include "tests/testing/temp_folder.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <optional>
#include <string>

namespace tangram::node::nvidia {
namespace {

constexpr std::string_view kCard = "GPU-74d43ed3-cdf7-e667-3644-bf5b4f46ed65";

TEST(SmPartitionTableTest, HasTheCardsChunksAndEachPartitions) {
  const auto table = parse_partition_table(
      "GPU           Partition     free    used    free   used   clients\n"
      "                            chunk   chunk   SM     SM\n"
      "GPU-74d43ed3  -             3       7       24     56     -\n"
      "GPU-74d43ed3  Dx4AAA/AA+=   -       5       -      40     Yes\n"
      "GPU-74d43ed3  Cx4AAAA       -       2       -      16     No\n"
      "GPU-99999999  -             1       1       8      8      -\n",
      kCard);
  ASSERT_TRUE(table);
  EXPECT_EQ(table->chunks, 10);
  EXPECT_EQ(table->partitions,
            (std::map<std::string, std::int64_t, std::less<>>{{"Dx4AAA/AA+=", 5}, {"Cx4AAAA", 2}}));
}

TEST(SmPartitionTableTest, IsNoneOfADaemonInAnotherMode) {
  EXPECT_FALSE(parse_partition_table("", kCard));
  EXPECT_FALSE(parse_partition_table("unknown command lspart\n", kCard));
  EXPECT_FALSE(parse_partition_table("GPU-74d43ed3 - 0 0 0 0 -\n", kCard));
  EXPECT_FALSE(parse_partition_table("GPU-99999999 - 3 7 24 56 -\n", kCard));
}

TEST(NewSmPartitionTest, IsFoundInEachVersionsAnswer) {
  const std::string partition = std::string(kCard) + "/Dx4AA/AAA";
  EXPECT_EQ(parse_new_partition(partition + "\n", kCard), partition);
  EXPECT_EQ(parse_new_partition("Partition " + partition + " created\r\n", kCard), partition);
  EXPECT_EQ(parse_new_partition("Failed to fulfill the requested SM partition of 7 chunks, error "
                                "CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION\n",
                                kCard),
            std::nullopt);
  EXPECT_EQ(parse_new_partition(std::string(kCard) + "/ \n", kCard), std::nullopt);
}

class SmPartitionsTest : public ::testing::Test {
 protected:
  SmPartitionsTest() { EXPECT_TRUE(SmPartitions::mark(folder_.path())); }

  SmPartitions partitions() {
    return {folder_.path(), "GPU-a", [this](const std::string& line) -> Result<std::string> {
              if (silent_) return fail(Errc::kUnavailable, "no answer");
              return daemon_.answer(line);
            }};
  }
  [[nodiscard]] std::string id_of(const std::string& allocation) const {
    return SmPartitions::id_of(folder_.path(), allocation);
  }
  /// Chunks, 0 = it has no partition.
  [[nodiscard]] int chunks_of(const std::string& allocation) const {
    const std::string id = id_of(allocation);
    if (!id.starts_with("GPU-a/") || !daemon_.has(id)) return 0;
    return daemon_.sizes().at(id.substr(id.find('/') + 1));
  }

  const testing::TempFolder folder_;
  fake_mps::Partitions daemon_;  // with 16 chunks
  bool silent_ = false;
};

TEST_F(SmPartitionsTest, EachContainerHasTheChunksOfItsShare) {
  daemon_.in_a_sentence = true;
  const SmPartitions::Shares shares{{"a", MilliGpu(500)}, {"b", MilliGpu(62)}};
  ASSERT_TRUE(partitions().reserve("a", shares));
  EXPECT_EQ(id_of("b"), "") << "it gets its own when it starts";
  ASSERT_TRUE(partitions().reserve("b", shares));
  EXPECT_EQ(chunks_of("a"), 8);
  EXPECT_EQ(chunks_of("b"), 1);
  EXPECT_EQ(daemon_.used(), 9);
}

TEST_F(SmPartitionsTest, AContainerKeepsItsPartition) {
  ASSERT_TRUE(partitions().reserve("a", {{"a", MilliGpu(500)}}));
  const std::string id = id_of("a");
  ASSERT_TRUE(partitions().reserve("a", {{"a", MilliGpu(500)}}));
  EXPECT_EQ(id_of("a"), id);
  EXPECT_EQ(daemon_.used(), 8);
}

TEST_F(SmPartitionsTest, AnotherShareIsAnotherPartition) {
  ASSERT_TRUE(partitions().reserve("a", {{"a", MilliGpu(500)}}));
  ASSERT_TRUE(partitions().reserve("a", {{"a", MilliGpu(750)}}));
  EXPECT_EQ(chunks_of("a"), 12);
  EXPECT_EQ(daemon_.used(), 12);
}

TEST_F(SmPartitionsTest, AContainerTakesTheRoomOfEndedOnes) {
  ASSERT_TRUE(partitions().reserve("gone", {{"gone", MilliGpu(750)}}));
  ASSERT_TRUE(partitions().reserve("a", {{"a", MilliGpu(500)}}));
  EXPECT_EQ(chunks_of("gone"), 0);
  EXPECT_EQ(chunks_of("a"), 8);
}

TEST_F(SmPartitionsTest, AContainerWithoutRoomWaits) {
  const SmPartitions::Shares shares{{"a", MilliGpu(750)}, {"b", MilliGpu(500)}};
  ASSERT_TRUE(partitions().reserve("a", shares));
  const auto reserved = partitions().reserve("b", shares);
  ASSERT_FALSE(reserved);
  EXPECT_EQ(reserved.error().code, Errc::kUnavailable);
  EXPECT_NE(reserved.error().message.find("INVALID_RESOURCE_CONFIGURATION"), std::string::npos);
  EXPECT_EQ(chunks_of("a"), 12);
}

TEST_F(SmPartitionsTest, ThatOfAnEndedContainerIsRemovedOnceItsProcessesHaveEnded) {
  const SmPartitions::Shares both{{"a", MilliGpu(500)}, {"b", MilliGpu(250)}};
  const SmPartitions::Shares rest{{"b", MilliGpu(250)}};
  for (const char* each : {"a", "b"}) ASSERT_TRUE(partitions().reserve(each, both));
  daemon_.in_use = {id_of("a").substr(sizeof "GPU-a/" - 1)};
  EXPECT_FALSE(partitions().has_others(both));
  EXPECT_TRUE(partitions().has_others(rest));
  EXPECT_FALSE(partitions().keep(rest)) << "it is in use";
  EXPECT_EQ(chunks_of("a"), 8);
  daemon_.in_use.clear();
  EXPECT_TRUE(partitions().keep(rest));
  EXPECT_EQ(id_of("a"), "");
  EXPECT_EQ(daemon_.used(), 4);
  EXPECT_EQ(chunks_of("b"), 4);
}

TEST_F(SmPartitionsTest, OneThatNobodyGotIsRemoved) {
  (void)daemon_.answer("sm_partition add GPU-a 10");  // and then the agent was killed
  EXPECT_FALSE(partitions().has_others({}));
  EXPECT_TRUE(partitions().keep({}));
  EXPECT_EQ(daemon_.used(), 0);
}

TEST_F(SmPartitionsTest, AShareOfBeforeTheCardGaveChunksHasAtLeastOne) {
  ASSERT_TRUE(partitions().reserve("a", {{"a", MilliGpu(0)}}));
  EXPECT_EQ(chunks_of("a"), 1);
}

TEST_F(SmPartitionsTest, NothingIsMadeOrRemovedWhileTheDaemonIsSilent) {
  ASSERT_TRUE(partitions().reserve("a", {{"a", MilliGpu(500)}}));
  silent_ = true;
  EXPECT_FALSE(partitions().reserve("b", {{"b", MilliGpu(500)}}));
  EXPECT_FALSE(partitions().keep({}));
  EXPECT_EQ(chunks_of("a"), 8);
}

TEST_F(SmPartitionsTest, OnlyTheFoldersOfMarkedDaemonsAre) {
  EXPECT_TRUE(SmPartitions::marked(folder_.path()));
  EXPECT_FALSE(SmPartitions::marked(folder_.path() + "/partitions"));
}

}  // namespace
}  // namespace tangram::node::nvidia
