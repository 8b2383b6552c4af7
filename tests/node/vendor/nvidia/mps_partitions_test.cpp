// The MPS enforcer where compute is divided into static SM partitions.

#include "tests/node/vendor/nvidia/mps_fixture.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace tangram::node::nvidia {
namespace {

using namespace std::chrono_literals;

model::GrantedCard part(std::int64_t milli) {
  model::GrantedCard card = granted(8192, milli);
  card.compute = MilliGpu(milli);
  return card;
}

CardSharers with(const std::vector<std::pair<std::string, std::int64_t>>& containers) {
  CardSharers sharers;
  for (const auto& [allocation, milli] : containers) {
    sharers.add(allocation, part(milli));
    sharers.starting = allocation;  // the last one
  }
  return sharers;
}

class MpsPartitionsTest : public MpsEnforcerTest {
 protected:
  MpsPartitionsTest() {
    settings_.sm_partitions = true;
    renew();
  }
  /// The partition that the container is given; "" = none.
  std::string partition_of(const std::string& allocation, std::int64_t milli) {
    const auto edits = enforcer_->edits(allocation, {part(milli)});
    if (!edits) return "";
    const std::string name = "CUDA_MPS_SM_PARTITION=";
    for (const std::string& one : edits->env) {
      if (one.starts_with(name)) return one.substr(name.size());
    }
    return "";
  }
  fake_mps::Partitions& partitions() { return programs_.partitions(pipe("GPU-a")); }
};

TEST_F(MpsPartitionsTest, AContainerGetsAPartitionInsteadOfAPercentage) {
  ASSERT_TRUE(enforcer_->prepare("GPU-a", with({{"slot-1.a", 500}})));
  EXPECT_EQ(programs_.starts().at(0).arguments.back(), "-S");
  const auto edits = enforcer_->edits("slot-1.a", {part(500)});
  ASSERT_TRUE(edits);
  ASSERT_EQ(edits->env.size(), 3U);
  EXPECT_EQ(edits->env[0], "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=0=8192M");
  EXPECT_EQ(edits->env[1].rfind("CUDA_MPS_SM_PARTITION=GPU-a/", 0), 0U) << edits->env[1];
  EXPECT_EQ(edits->env[2], "CUDA_MPS_PIPE_DIRECTORY=/run/tangram/mps");
  EXPECT_TRUE(partitions().has(partition_of("slot-1.a", 500)));
  EXPECT_EQ(partitions().used(), 8);
}

TEST_F(MpsPartitionsTest, TheServerIsHeldToMemoryOnly) {
  ASSERT_TRUE(enforcer_->prepare("GPU-a", with({{"slot-1.a", 500}})));
  const auto inputs = programs_.inputs();
  EXPECT_TRUE(std::none_of(inputs.begin(), inputs.end(), [](const std::string& line) {
    return line.find("percentage") != std::string::npos;
  }));
  EXPECT_NE(
      std::find(inputs.begin(), inputs.end(), "set_default_device_pinned_mem_limit 0 8192M\n"),
      inputs.end());
}

TEST_F(MpsPartitionsTest, AContainerThatIsNotPreparedHasNone) {
  EXPECT_EQ(enforcer_->edits("slot-1.a", {part(500)}).error().code, Errc::kUnavailable);
  ASSERT_TRUE(enforcer_->prepare("GPU-a", with({{"slot-1.a", 500}})));
  EXPECT_EQ(enforcer_->edits("slot-2.b", {part(500)}).error().code, Errc::kUnavailable);
}

TEST_F(MpsPartitionsTest, AnEndedContainersIsFreeAgain) {
  ASSERT_TRUE(enforcer_->prepare("GPU-a", with({{"slot-1.a", 500}})));
  ASSERT_TRUE(enforcer_->prepare("GPU-a", with({{"slot-1.a", 500}, {"slot-2.b", 500}})));
  EXPECT_EQ(partitions().used(), 16);
  enforcer_->keep({{"GPU-a", with({{"slot-1.a", 500}, {"slot-2.b", 500}})}});
  const std::string kept = partition_of("slot-2.b", 500);
  // The first one's claim is gone: the next container does not wait for the next keep().
  ASSERT_TRUE(enforcer_->prepare("GPU-a", with({{"slot-2.b", 500}, {"slot-3.c", 500}})));
  EXPECT_EQ(partitions().used(), 16);
  EXPECT_EQ(partition_of("slot-2.b", 500), kept);
  EXPECT_EQ(partition_of("slot-1.a", 500), "");
}

TEST_F(MpsPartitionsTest, OneWhoseAnswerWasLostIsRemoved) {
  ASSERT_TRUE(enforcer_->prepare("GPU-a", with({{"slot-1.a", 500}})));
  enforcer_->keep({{"GPU-a", with({{"slot-1.a", 500}})}});
  programs_.answer_late(1);
  EXPECT_FALSE(enforcer_->prepare("GPU-a", with({{"slot-1.a", 500}, {"slot-2.b", 250}})));
  EXPECT_EQ(partitions().used(), 12);
  enforcer_->keep({{"GPU-a", with({{"slot-1.a", 500}, {"slot-2.b", 250}})}});
  EXPECT_EQ(partitions().used(), 8);
  EXPECT_TRUE(enforcer_->prepare("GPU-a", with({{"slot-1.a", 500}, {"slot-2.b", 250}})));
}

TEST_F(MpsPartitionsTest, ThatOfAnEarlierAllocationOfTheContainerIsFree) {
  ASSERT_TRUE(enforcer_->prepare("GPU-a", with({{"slot-1.a", 625}})));
  enforcer_->keep({{"GPU-a", with({{"slot-1.a", 625}})}});
  ASSERT_TRUE(enforcer_->prepare("GPU-a", with({{"slot-1.again", 625}})));
  EXPECT_EQ(partitions().used(), 10);
}

TEST_F(MpsPartitionsTest, OneThatWasPreparedAMomentAgoStaysWithoutAClaim) {
  ASSERT_TRUE(enforcer_->prepare("GPU-a", with({{"slot-1.a", 500}})));
  enforcer_->keep({{"GPU-a", {}}});
  EXPECT_EQ(partitions().used(), 8);
  clock_.advance(61s);
  enforcer_->keep({{"GPU-a", {}}});
  EXPECT_EQ(partitions().used(), 0);
}

TEST_F(MpsPartitionsTest, ALaterAgentFindsThem) {
  ASSERT_TRUE(enforcer_->prepare("GPU-a", with({{"slot-1.a", 500}})));
  const std::string before = partition_of("slot-1.a", 500);
  partitions().answer("sm_partition add GPU-a 4");  // for a container, just as it was killed
  renew();
  enforcer_->keep({{"GPU-a", with({{"slot-1.a", 500}})}});
  enforcer_->maintain();
  enforcer_->keep({{"GPU-a", with({{"slot-1.a", 500}})}});
  EXPECT_EQ(partition_of("slot-1.a", 500), before);
  EXPECT_EQ(partitions().used(), 8);
}

/// Its partition's name may be another container's with the next daemon.
TEST_F(MpsPartitionsTest, AContainerReachesOnlyTheDaemonThatMadeItsPartition) {
  const CardSharers both = with({{"slot-2.b", 250}, {"slot-1.a", 500}});
  ASSERT_TRUE(enforcer_->prepare("GPU-a", with({{"slot-2.b", 250}})));
  ASSERT_TRUE(enforcer_->prepare("GPU-a", both));
  const auto reaches = [&](const char* allocation) {
    std::error_code missing;
    return std::filesystem::equivalent(client_file(allocation, "control"),
                                       pipe("GPU-a") + "/control", missing);
  };
  EXPECT_TRUE(reaches("slot-1.a"));
  EXPECT_TRUE(reaches("slot-2.b"));
  programs_.crash(pipe("GPU-a"));
  enforcer_->maintain();
  enforcer_->maintain();
  ASSERT_TRUE(enforcer_->prepare("GPU-a", both));  // a was restarted, and b goes on
  EXPECT_TRUE(reaches("slot-1.a"));
  EXPECT_FALSE(reaches("slot-2.b"));
  EXPECT_EQ(partition_of("slot-2.b", 250), "");
  EXPECT_TRUE(partitions().has(partition_of("slot-1.a", 500)));
}

TEST_F(MpsPartitionsTest, ADaemonThatDividesOtherwiseIsReplaced) {
  settings_.sm_partitions = false;
  renew();
  ASSERT_TRUE(enforcer_->prepare("GPU-a", with({{"slot-1.a", 500}})));
  settings_.sm_partitions = true;
  renew();
  ASSERT_TRUE(enforcer_->prepare("GPU-a", with({{"slot-1.a", 500}, {"slot-2.b", 500}})));
  EXPECT_EQ(programs_.starts().size(), 2U);
  EXPECT_EQ(partitions().used(), 8);
  settings_.sm_partitions = false;
  renew();
  enforcer_->keep({{"GPU-a", with({{"slot-2.b", 500}})}});
  enforcer_->maintain();
  EXPECT_EQ(programs_.starts().size(), 3U);
  EXPECT_EQ(programs_.starts().back().arguments.back(), "-multiuser-server");
}

TEST_F(MpsPartitionsTest, ComputeIsReservedAndNotEnforced) {
  ASSERT_TRUE(enforcer_->prepare("GPU-a", with({{"slot-1.a", 500}})));
  const Enforcement now = enforcer_->enforcement(part(500));
  EXPECT_EQ(now.memory, Holder::kClient);
  EXPECT_EQ(now.compute, Holder::kClient);
  EXPECT_NE(now.note.find("another SM partition"), std::string::npos);
}

}  // namespace
}  // namespace tangram::node::nvidia
