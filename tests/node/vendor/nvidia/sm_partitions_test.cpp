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
  ASSERT_TRUE(partitions().reserve({{"a", MilliGpu(500)}, {"b", MilliGpu(62)}}));
  EXPECT_EQ(chunks_of("a"), 8);
  EXPECT_EQ(chunks_of("b"), 1);
  EXPECT_EQ(daemon_.used(), 9);
  EXPECT_EQ(id_of("c"), "");
}

TEST_F(SmPartitionsTest, AContainerKeepsItsPartition) {
  ASSERT_TRUE(partitions().reserve({{"a", MilliGpu(500)}}));
  const std::string id = id_of("a");
  ASSERT_TRUE(partitions().reserve({{"a", MilliGpu(500)}, {"b", MilliGpu(250)}}));
  EXPECT_EQ(id_of("a"), id);
  EXPECT_EQ(daemon_.used(), 12);
}

TEST_F(SmPartitionsTest, AnotherShareIsAnotherPartition) {
  ASSERT_TRUE(partitions().reserve({{"a", MilliGpu(500)}}));
  ASSERT_TRUE(partitions().reserve({{"a", MilliGpu(750)}}));
  EXPECT_EQ(chunks_of("a"), 12);
  EXPECT_EQ(daemon_.used(), 12);
}

TEST_F(SmPartitionsTest, AContainerWithoutRoomWaits) {
  ASSERT_TRUE(partitions().reserve({{"gone", MilliGpu(750)}}));
  const auto reserved = partitions().reserve({{"a", MilliGpu(500)}});
  ASSERT_FALSE(reserved);
  EXPECT_EQ(reserved.error().code, Errc::kUnavailable);
  EXPECT_NE(reserved.error().message.find("INVALID_RESOURCE_CONFIGURATION"), std::string::npos);
  EXPECT_TRUE(partitions().keep({{"a", MilliGpu(500)}}));
  EXPECT_TRUE(partitions().reserve({{"a", MilliGpu(500)}}));
}

TEST_F(SmPartitionsTest, ThatOfAnEndedContainerIsRemovedOnceItsProcessesHaveEnded) {
  ASSERT_TRUE(partitions().reserve({{"a", MilliGpu(500)}, {"b", MilliGpu(250)}}));
  const std::string in_use = id_of("a").substr(sizeof "GPU-a/" - 1);
  daemon_.in_use = {in_use};
  EXPECT_FALSE(partitions().has_others({{"a", MilliGpu(500)}, {"b", MilliGpu(250)}}));
  EXPECT_TRUE(partitions().has_others({{"b", MilliGpu(250)}}));
  EXPECT_TRUE(partitions().keep({{"b", MilliGpu(250)}}));
  EXPECT_EQ(chunks_of("a"), 8) << "it is in use";
  EXPECT_TRUE(partitions().has_others({{"b", MilliGpu(250)}}))
      << "so that the next call tries again";
  daemon_.in_use.clear();
  EXPECT_TRUE(partitions().keep({{"b", MilliGpu(250)}}));
  EXPECT_EQ(id_of("a"), "");
  EXPECT_EQ(daemon_.used(), 4);
  EXPECT_EQ(chunks_of("b"), 4);
}

TEST_F(SmPartitionsTest, OneThatNobodyGotIsRemoved) {
  daemon_.answer("sm_partition add GPU-a 10");  // and then the agent was killed
  EXPECT_FALSE(partitions().has_others({}));
  EXPECT_TRUE(partitions().keep({}));
  EXPECT_EQ(daemon_.used(), 0);
}

TEST_F(SmPartitionsTest, AShareOfBeforeTheCardGaveChunksHasAtLeastOne) {
  ASSERT_TRUE(partitions().reserve({{"a", MilliGpu(0)}}));
  EXPECT_EQ(chunks_of("a"), 1);
}

TEST_F(SmPartitionsTest, NothingIsMadeOrRemovedWhileTheDaemonIsSilent) {
  ASSERT_TRUE(partitions().reserve({{"a", MilliGpu(500)}}));
  silent_ = true;
  EXPECT_FALSE(partitions().reserve({{"b", MilliGpu(500)}}));
  EXPECT_FALSE(partitions().keep({}));
  EXPECT_EQ(chunks_of("a"), 8);
}

TEST_F(SmPartitionsTest, OnlyTheFoldersOfMarkedDaemonsAre) {
  EXPECT_TRUE(SmPartitions::marked(folder_.path()));
  EXPECT_FALSE(SmPartitions::marked(folder_.path() + "/partitions"));
}

}  // namespace
}  // namespace tangram::node::nvidia
