#include "node/audit/memory_check.hpp"

#include "tests/node/audit/memory_rig.hpp"

#include <gtest/gtest.h>

namespace tangram::node {
namespace {

struct Limit {
  const char* name;
  std::uint64_t limit_bytes;
  std::uint64_t tolerated_bytes;
};

class ToleranceTest : public ::testing::TestWithParam<Limit> {};

TEST_P(ToleranceTest, IsBesideTheLimit) {
  const Limit& row = GetParam();
  MemoryUse use;
  use.limit_bytes = row.limit_bytes;
  for (const std::uint64_t used : {std::uint64_t{0}, row.limit_bytes, row.limit_bytes + 1,
                                   row.limit_bytes + row.tolerated_bytes}) {
    use.used_bytes = used;
    EXPECT_FALSE(is_over_limit(use)) << used;
  }
  use.used_bytes = row.limit_bytes + row.tolerated_bytes + 1;
  EXPECT_TRUE(is_over_limit(use));
}

INSTANTIATE_TEST_SUITE_P(Limits, ToleranceTest,
                         ::testing::Values(Limit{"Small", 1 * kMiB, 64 * kMiB},
                                           Limit{"OneGiB", 1024 * kMiB, 64 * kMiB},
                                           // 1 % of 6,400 MiB is 64 MiB
                                           Limit{"WhereBothAreEqual", 6400 * kMiB, 64 * kMiB},
                                           Limit{"JustAbove", 6500 * kMiB, 65 * kMiB},
                                           Limit{"Large", 80'000 * kMiB, 800 * kMiB}),
                         [](const auto& row) { return std::string(row.param.name); });

PlacedProcess process(std::int64_t pid, const std::string& pod, const std::string& id,
                      std::uint64_t mib) {
  return {pid, {"uid-" + pod, id}, mib * kMiB};
}

/// "pod/container used of limit [pids]" in MiB.
std::vector<std::string> text(const std::vector<MemoryUse>& uses) {
  std::vector<std::string> lines;
  for (const MemoryUse& use : uses) {
    std::string line = use.pod + "/" + use.container + " " + std::to_string(use.used_bytes / kMiB) +
                       " of " + std::to_string(use.limit_bytes / kMiB) + " [";
    for (const PlacedProcess& one : use.processes) line += " " + std::to_string(one.pid);
    lines.push_back(line + " ]");
  }
  return lines;
}

using Lines = std::vector<std::string>;

class MemoryUsesTest : public ::testing::Test {
 protected:
  Lines uses() const { return text(memory_uses("GPU-1", processes, claims, names)); }

  std::vector<CardClaim> claims{MemoryRig::claim("a", "one", part("GPU-1", 1000, 100)),
                                MemoryRig::claim("a", "two", part("GPU-1", 3000, 100))};
  std::vector<PlacedProcess> processes{process(1, "a", "c1", 900), process(2, "a", "c2", 100),
                                       process(3, "a", "c1", 700)};
  ContainerNamesById names{{"c1", "one"}, {"c2", "two"}};
};

TEST_F(MemoryUsesTest, AreOfEachContainer) {
  EXPECT_EQ(uses(), (Lines{"a/one 1600 of 1000 [ 1 3 ]", "a/two 100 of 3000 [ 2 ]"}));
}

TEST_F(MemoryUsesTest, WhereOneCannotBeToldAreOfThePod) {
  for (const char* unknown : {"c1", "c2"}) {
    auto some = names;
    some.erase(unknown);
    EXPECT_EQ(text(memory_uses("GPU-1", processes, claims, some)), (Lines{"a/ 1700 of 4000 [ ]"}));
  }
  processes.push_back(process(4, "a", "", 50));
  EXPECT_EQ(uses(), (Lines{"a/ 1750 of 4000 [ ]"}));
}

TEST_F(MemoryUsesTest, OfAPodWithOneSharingContainerHaveItsName) {
  claims.pop_back();
  names.clear();
  EXPECT_EQ(uses(), (Lines{"a/one 1700 of 1000 [ ]"}));
}

TEST_F(MemoryUsesTest, AContainerWithoutAShareMayUseNothing) {
  claims.back().container.cards = {part("GPU-2", 3000, 100)};
  EXPECT_EQ(uses(), (Lines{"a/one 1600 of 1000 [ 1 3 ]", "a/two 100 of 0 [ 2 ]"}));
  processes.push_back(process(4, "a", "new", 50));
  EXPECT_EQ(uses(), (Lines{"a/one 1650 of 1000 [ ]", "a/two 100 of 0 [ 2 ]"}))
      << "what two uses is certain";
}

TEST_F(MemoryUsesTest, LeaveOutPodsWithoutAShare) {
  for (CardClaim& claim : claims) claim.container.cards = {part("GPU-2", 3000, 100)};
  EXPECT_EQ(uses(), Lines()) << "the audit reports them";
}

TEST_F(MemoryUsesTest, CountBothStartsOfARestartedContainer) {
  names["c0"] = "one";  // the former one, whose processes are ending
  processes.push_back(process(4, "a", "c0", 50));
  EXPECT_EQ(uses(), (Lines{"a/one 1650 of 1000 [ 1 3 4 ]", "a/two 100 of 3000 [ 2 ]"}));
}

TEST_F(MemoryUsesTest, LeaveOutWhoHasTheCardAlone) {
  for (CardClaim& claim : claims) claim.whole = true;
  EXPECT_EQ(uses(), Lines());
}

TEST_F(MemoryUsesTest, OfAContainerThatTheJournalHasLostHaveTheLimitOfItsGrant) {
  claims[1].admitted = false;
  EXPECT_EQ(uses(), (Lines{"a/one 1600 of 1000 [ 1 3 ]", "a/two 100 of 3000 [ 2 ]"}));
}

TEST_F(MemoryUsesTest, LeaveOutProcessesOfOthers) {
  processes = {process(1, "b", "c1", 900), {2, {}, 900 * kMiB}};
  EXPECT_EQ(uses(), (Lines{"a/one 0 of 1000 [ ]", "a/two 0 of 3000 [ ]"}));
}

TEST_F(MemoryUsesTest, OfABurstHaveItsLimitNotItsRequest) {
  claims[0].container.cards[0].memory_limit = Mebibytes(2000);
  EXPECT_EQ(uses(), (Lines{"a/one 1600 of 2000 [ 1 3 ]", "a/two 100 of 3000 [ 2 ]"}));
}

}  // namespace
}  // namespace tangram::node
