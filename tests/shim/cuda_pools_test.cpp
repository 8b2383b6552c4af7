// Pools in the order of a stream, and graphs.
#include "tests/shim/stand_in_rig.hpp"
#include "tests/testing/eventually.hpp"

#include <gtest/gtest.h>

#include <atomic>

namespace tangram::shim {
namespace {

constexpr int kOutOfMemory = 2;
constexpr int kInvalidValue = 1;

/// A container with 1,000 MiB of a card whose pools grow by 32 MiB.
class CudaPoolsTest : public ::testing::Test {
 protected:
  CudaPoolsTest() : rig_({{.limit = 1000 * kMiB, .pool_chunk = 32 * kMiB}}), client_(rig_) {
    EXPECT_EQ(client_.run("init").result, 0) << client_.errors();
  }
  Client::Answer run(const std::string& command,
                     std::initializer_list<std::uint64_t> numbers = {}) {
    return client_.run(words(command, numbers));
  }
  std::uint64_t used() {
    EXPECT_EQ(run("info").result, 0);  // accounts every pool by what it has now
    const std::uint64_t accounted = rig_.accounted();
    EXPECT_EQ(accounted, rig_.really_used());
    return accounted;
  }
  /// Another thread allocates in the pool, until the driver holds it there.
  void allocate_aside(std::uint64_t bytes, std::atomic<int>& hold) {
    hold = 1;
    (void)run("aside alloc-async", {bytes});
    ASSERT_TRUE(testing::eventually([&] { return hold == 2; }));
  }

  StandInRig rig_;
  Client client_;
};

TEST_F(CudaPoolsTest, WhatCountsIsWhatAPoolHasReserved) {
  const auto pointer = run("alloc-async", {kMiB});
  ASSERT_EQ(pointer.result, 0);
  EXPECT_EQ(used(), 32 * kMiB);
  ASSERT_EQ(run("alloc-async", {kMiB}).result, 0);
  EXPECT_EQ(used(), 32 * kMiB);
}

TEST_F(CudaPoolsTest, FreedMemoryCountsAsLongAsThePoolKeepsIt) {
  const auto pool = run("default-pool", {0});
  ASSERT_EQ(run("threshold", {pool.value(), ~std::uint64_t{0}}).result, 0);
  const auto pointer = run("alloc-async", {640 * kMiB});
  ASSERT_EQ(run("free-async", {pointer.value()}).result, 0);
  EXPECT_EQ(used(), 640 * kMiB);
  ASSERT_EQ(run("trim", {pool.value(), 64 * kMiB}).result, 0);
  EXPECT_EQ(used(), 64 * kMiB);
  ASSERT_EQ(run("threshold", {pool.value(), 0}).result, 0);
  EXPECT_EQ(used(), 0U);
}

TEST_F(CudaPoolsTest, AnAllocationThatThePoolCanServeIsNotRefused) {
  const auto pool = run("default-pool", {0});
  ASSERT_EQ(run("threshold", {pool.value(), ~std::uint64_t{0}}).result, 0);
  const auto most = run("alloc-async", {960 * kMiB});
  ASSERT_EQ(run("free-async", {most.value()}).result, 0);
  EXPECT_EQ(run("alloc-async", {900 * kMiB}).result, 0);
  EXPECT_LE(rig_.cards().cards[0].most_used, 1000 * kMiB);
}

TEST_F(CudaPoolsTest, WhatAPoolKeepsMakesRoomForOthers) {
  const auto pool = run("default-pool", {0});
  ASSERT_EQ(run("threshold", {pool.value(), ~std::uint64_t{0}}).result, 0);
  const auto most = run("alloc-async", {960 * kMiB});
  ASSERT_EQ(run("free-async", {most.value()}).result, 0);
  const auto other = run("pool", {1, 0});
  EXPECT_EQ(run("alloc-from", {640 * kMiB, other.value()}).result, 0);
  EXPECT_LE(rig_.cards().cards[0].most_used, 1000 * kMiB);
}

TEST_F(CudaPoolsTest, WhatAPoolHasFreedIsFreeForAll) {
  const auto first = run("alloc-async", {900 * kMiB});
  ASSERT_EQ(run("free-async", {first.value()}).result, 0);
  EXPECT_EQ(rig_.accounted(), 0U) << "another process can have it at once";
  const auto second = run("alloc-async", {900 * kMiB});
  ASSERT_EQ(run("free", {second.value()}).result, 0);
  EXPECT_EQ(rig_.accounted(), 0U);
  EXPECT_EQ(run("alloc", {1000 * kMiB}).result, 0);
}

TEST_F(CudaPoolsTest, WhatAPoolKeepsMakesRoomForPointersAndHandles) {
  const auto pool = run("default-pool", {0});
  ASSERT_EQ(run("threshold", {pool.value(), ~std::uint64_t{0}}).result, 0);
  const auto kept = run("alloc-async", {960 * kMiB});
  ASSERT_EQ(run("free-async", {kept.value()}).result, 0);
  EXPECT_EQ(run("alloc", {300 * kMiB}).result, 0);
  EXPECT_EQ(run("create", {300 * kMiB, 1, 0}).result, 0);
  EXPECT_EQ(run("alloc", {401 * kMiB}).result, kOutOfMemory);
  EXPECT_LE(rig_.cards().cards[0].most_used, 1000 * kMiB);
}

TEST_F(CudaPoolsTest, APointerOfNoPoolCanBeFreedInTheOrderOfAStream) {
  const auto pointer = run("alloc", {900 * kMiB});
  ASSERT_EQ(run("free-async", {pointer.value()}).result, 0);
  EXPECT_EQ(used(), 0U);
}

TEST_F(CudaPoolsTest, APointerThatAFailedStreamDoesNotFreeEndsWithItsContext) {
  const auto context = run("context", {0});
  const auto pointer = run("alloc", {900 * kMiB});
  rig_.cards().fail_waits = 700;
  ASSERT_EQ(run("free-async", {pointer.value()}).result, 0);
  EXPECT_EQ(used(), 900 * kMiB);
  ASSERT_EQ(run("destroy-context", {context.value()}).result, 0);
  EXPECT_EQ(used(), 0U);
}

TEST_F(CudaPoolsTest, APoolStaysAccountedIfTheDriverDoesNotSayWhatItHas) {
  const auto pool = run("pool", {1, 0});
  ASSERT_EQ(run("alloc-from", {640 * kMiB, pool.value()}).result, 0);
  rig_.cards().fail_pools = 700;
  (void)run("info");
  EXPECT_EQ(rig_.accounted(), 640 * kMiB);
  EXPECT_EQ(run("alloc", {500 * kMiB}).result, kOutOfMemory);
  ASSERT_EQ(run("destroy-pool", {pool.value()}).result, 0);
  EXPECT_EQ(rig_.accounted(), 640 * kMiB) << "its pointers are in use";
}

TEST_F(CudaPoolsTest, AnAllocationThatThePoolDoesNotTellOfIsAccountedAndFreed) {
  rig_.cards().fail_pools = 700;
  const auto pointer = run("alloc-async", {kMiB});
  ASSERT_EQ(pointer.result, 0);
  EXPECT_GE(rig_.accounted(), rig_.really_used());
  rig_.cards().fail_pools = 0;
  EXPECT_EQ(used(), 32 * kMiB);
  ASSERT_EQ(run("free-async", {pointer.value()}).result, 0);
  EXPECT_EQ(used(), 0U);
}

TEST_F(CudaPoolsTest, AllocationsThatComeAndGoCountOnceEach) {
  for (int i = 0; i < 200; ++i) {
    const auto pointer = run("alloc-async", {320 * kMiB});
    ASSERT_EQ(pointer.result, 0) << i;
    ASSERT_EQ(rig_.accounted(), 320 * kMiB) << i;
    ASSERT_EQ(run("free-async", {pointer.value()}).result, 0);
  }
  EXPECT_EQ(used(), 0U);
}

TEST_F(CudaPoolsTest, APoolGetsNothingByWhichItWouldGrowAboveTheLimit) {
  ASSERT_EQ(run("alloc", {990 * kMiB}).result, 0);
  EXPECT_EQ(run("alloc-async", {kMiB}).result, kOutOfMemory);
  EXPECT_EQ(used(), 990 * kMiB);
  EXPECT_EQ(run("alloc", {10 * kMiB}).result, 0);
  EXPECT_EQ(rig_.cards().cards[0].most_used, 1000 * kMiB);
}

TEST_F(CudaPoolsTest, APoolThatGrowsByMoreThanExpectedGivesItBack) {
  rig_.cards().cards[0].pool_chunk = 128 * kMiB;
  ASSERT_EQ(run("alloc", {900 * kMiB}).result, 0);
  EXPECT_EQ(run("alloc-async", {kMiB}).result, kOutOfMemory);
  EXPECT_EQ(used(), 900 * kMiB);
}

TEST_F(CudaPoolsTest, APoolServesTheLastOfWhatItHas) {
  ASSERT_EQ(run("alloc-async", {20 * kMiB}).result, 0);
  ASSERT_EQ(run("alloc", {960 * kMiB}).result, 0);
  EXPECT_EQ(run("alloc-async", {12 * kMiB}).result, 0);
  EXPECT_EQ(run("alloc-async", {kMiB}).result, kOutOfMemory);
  EXPECT_EQ(used(), 992 * kMiB);
}

/// While a thread without room asks what the pool has idle, it grows for another thread.
TEST_F(CudaPoolsTest, WhatAPoolGrowsByForAThreadIsNotIdleForAnother) {
  ASSERT_EQ(run("alloc-async", {kMiB}).result, 0);
  ASSERT_EQ(run("alloc", {936 * kMiB}).result, 0);
  allocate_aside(32 * kMiB, rig_.cards().hold_in_pool);
  allocate_aside(40 * kMiB, rig_.cards().hold_pool_used);
  rig_.cards().hold_in_pool = 0;
  ASSERT_TRUE(testing::eventually([&] { return rig_.really_used() == 1000 * kMiB; }));
  rig_.cards().hold_pool_used = 0;
  (void)run("join");
  EXPECT_EQ(used(), 1000 * kMiB);
  EXPECT_EQ(rig_.cards().cards[0].most_used, 1000 * kMiB);
}

/// Both have room. The first one accounts what the pool has when it has grown for the other, too.
TEST_F(CudaPoolsTest, ThreadsThatMakeAPoolGrowTogetherFillTheLimit) {
  ASSERT_EQ(run("alloc", {936 * kMiB}).result, 0);
  allocate_aside(32 * kMiB, rig_.cards().hold_in_pool);
  allocate_aside(32 * kMiB, rig_.cards().hold_pool_reserved);
  rig_.cards().hold_in_pool = 0;
  ASSERT_TRUE(testing::eventually([&] { return rig_.really_used() == 1000 * kMiB; }));
  rig_.cards().hold_pool_reserved = 0;
  (void)run("join");
  EXPECT_EQ(used(), 1000 * kMiB);
}

TEST_F(CudaPoolsTest, ADriverThatRefusesAnAllocationInAPoolLeavesNothing) {
  rig_.cards().fail_next = 700;
  EXPECT_EQ(run("alloc-async", {kMiB}).result, 700);
  EXPECT_EQ(used(), 0U);
  EXPECT_EQ(run("alloc", {1000 * kMiB}).result, 0);
}

TEST_F(CudaPoolsTest, PoolsOfHostMemoryDoNotCount) {
  constexpr std::uint64_t kHost = 2;
  const auto pool = run("pool", {kHost, 0});
  EXPECT_EQ(run("alloc-from", {2000 * kMiB, pool.value()}).result, 0);
  EXPECT_EQ(used(), 0U);
}

TEST_F(CudaPoolsTest, ADestroyedPoolGivesBackWhatItDoesNotUse) {
  const auto pool = run("pool", {1, 0});
  ASSERT_EQ(run("threshold", {pool.value(), ~std::uint64_t{0}}).result, 0);
  const auto pointer = run("alloc-from", {320 * kMiB, pool.value()});
  ASSERT_EQ(run("free", {pointer.value()}).result, 0);
  EXPECT_EQ(used(), 320 * kMiB);
  ASSERT_EQ(run("destroy-pool", {pool.value()}).result, 0);
  EXPECT_EQ(used(), 0U);
}

TEST_F(CudaPoolsTest, AnExportedPoolCountsWithAllThatItHadAsLongAsTheProcessLives) {
  const auto pool = run("pool", {1, 0});
  const auto pointer = run("alloc-from", {320 * kMiB, pool.value()});
  ASSERT_EQ(run("export-pool", {pool.value()}).result, 0);
  ASSERT_EQ(run("free", {pointer.value()}).result, 0);
  ASSERT_EQ(run("destroy-pool", {pool.value()}).result, 0);
  EXPECT_EQ(used(), 320 * kMiB);
}

TEST_F(CudaPoolsTest, ANodeOfAGraphCountsFromItsBeginning) {
  const auto graph = run("graph");
  ASSERT_EQ(run("node", {graph.value(), 600 * kMiB}).result, 0);
  EXPECT_EQ(rig_.accounted(), 600 * kMiB);
  EXPECT_EQ(run("node", {graph.value(), 600 * kMiB}).result, kOutOfMemory);
  const auto exec = run("instantiate", {graph.value()});
  ASSERT_EQ(run("launch", {exec.value()}).result, 0);
  ASSERT_EQ(run("launch", {exec.value()}).result, 0);
  EXPECT_EQ(used(), 600 * kMiB);
  ASSERT_EQ(run("destroy-graph", {graph.value()}).result, 0);
  EXPECT_EQ(used(), 600 * kMiB) << "what was instantiated from it keeps it alive";
  ASSERT_EQ(run("destroy-exec", {exec.value()}).result, 0);
  EXPECT_EQ(used(), 600 * kMiB) << "the driver keeps it until it is trimmed";
  ASSERT_EQ(run("trim-graphs", {0}).result, 0);
  EXPECT_EQ(used(), 0U);
}

TEST_F(CudaPoolsTest, AGraphThatNeverRanGivesBackWhatWasAccounted) {
  const auto graph = run("graph");
  ASSERT_EQ(run("node", {graph.value(), 600 * kMiB}).result, 0);
  ASSERT_EQ(run("destroy-graph", {graph.value()}).result, 0);
  EXPECT_EQ(used(), 0U);
}

TEST_F(CudaPoolsTest, AnAllocationInACaptureCountsAsANode) {
  const auto pool = run("default-pool", {0});
  const auto graph = run("capture", {600 * kMiB});
  ASSERT_EQ(graph.result, 0);
  EXPECT_EQ(rig_.accounted(), 600 * kMiB);
  EXPECT_EQ(run("capture", {401 * kMiB}).result, kOutOfMemory);
  EXPECT_EQ(run("capture", {401 * kMiB, pool.value()}).result, kOutOfMemory);
  const auto second = run("capture", {400 * kMiB, pool.value()});
  ASSERT_EQ(second.result, 0);
  for (const auto& each : {graph, second}) {
    const auto exec = run("instantiate", {each.value()});
    ASSERT_EQ(run("launch", {exec.value()}).result, 0);
    ASSERT_EQ(run("destroy-graph", {each.value()}).result, 0);
  }
  EXPECT_EQ(used(), 1000 * kMiB);
  EXPECT_EQ(run("alloc", {1}).result, kOutOfMemory);
}

TEST_F(CudaPoolsTest, ACloneKeepsTheMemoryOfAGraph) {
  const auto graph = run("graph");
  ASSERT_EQ(run("node", {graph.value(), 600 * kMiB}).result, 0);
  const auto clone = run("clone", {graph.value()});
  ASSERT_EQ(clone.result, 0);
  ASSERT_EQ(run("destroy-graph", {graph.value()}).result, 0);
  EXPECT_EQ(rig_.accounted(), 600 * kMiB);
  ASSERT_EQ(run("destroy-graph", {clone.value()}).result, 0);
  EXPECT_EQ(used(), 0U);
}

constexpr std::uint64_t kCloned = 0;
constexpr std::uint64_t kMoved = 1;

TEST_F(CudaPoolsTest, AChildThatWasMovedEndsWithItsGraph) {
  for (const char* const add :
       {"as 12020 0 add-child-v1", "as 12030 0 add-child", "as 13050 0 add-child"}) {
    for (const std::uint64_t own_bytes : {std::uint64_t{0}, 200 * kMiB}) {
      const auto graph = run("graph");
      const auto child = run("graph");
      ASSERT_EQ(run("node", {child.value(), 600 * kMiB}).result, 0);
      if (own_bytes != 0) {
        ASSERT_EQ(run("node", {graph.value(), own_bytes}).result, 0);
      }
      ASSERT_EQ(run(add, {graph.value(), child.value(), kMoved}).result, 0);
      EXPECT_EQ(run("destroy-graph", {child.value()}).result, kInvalidValue);
      EXPECT_EQ(rig_.accounted(), 600 * kMiB + own_bytes) << add;
      const auto exec = run("instantiate", {graph.value()});
      ASSERT_EQ(run("launch", {exec.value()}).result, 0);
      EXPECT_EQ(used(), 600 * kMiB + own_bytes) << add;
      ASSERT_EQ(run("destroy-graph", {graph.value()}).result, 0);
      ASSERT_EQ(run("destroy-exec", {exec.value()}).result, 0);
      ASSERT_EQ(run("trim-graphs", {0}).result, 0);
      EXPECT_EQ(used(), 0U) << add;
    }
  }
}

TEST_F(CudaPoolsTest, AChildThatIsRefusedKeepsItsMemory) {
  const auto graph = run("graph");
  const auto child = run("graph");
  ASSERT_EQ(run("node", {child.value(), 600 * kMiB}).result, 0);
  EXPECT_NE(run("add-child", {graph.value(), child.value(), kCloned}).result, 0);
  ASSERT_EQ(run("destroy-graph", {graph.value()}).result, 0);
  EXPECT_EQ(rig_.accounted(), 600 * kMiB);
  ASSERT_EQ(run("destroy-graph", {child.value()}).result, 0);
  EXPECT_EQ(used(), 0U);
}

TEST_F(CudaPoolsTest, AnInstanceOfAMovedChildCountsBesideItsGraph) {
  const auto graph = run("graph");
  const auto child = run("graph");
  ASSERT_EQ(run("node", {child.value(), 300 * kMiB}).result, 0);
  ASSERT_EQ(run("node", {graph.value(), 100 * kMiB}).result, 0);
  const auto exec_of_child = run("instantiate", {child.value()});
  ASSERT_EQ(run("add-child", {graph.value(), child.value(), kMoved}).result, 0);
  const auto exec = run("instantiate", {graph.value()});
  for (const auto& each : {exec, exec_of_child}) {
    ASSERT_EQ(run("launch", {each.value()}).result, 0);
  }
  EXPECT_EQ(used(), 700 * kMiB);
  ASSERT_EQ(run("destroy-graph", {graph.value()}).result, 0);
  for (const auto& each : {exec, exec_of_child}) {
    ASSERT_EQ(run("destroy-exec", {each.value()}).result, 0);
  }
  ASSERT_EQ(run("trim-graphs", {0}).result, 0);
  EXPECT_EQ(used(), 0U);
}

TEST_F(CudaPoolsTest, ANodeInAPartOfACardIsTheCards) {
  constexpr std::uint64_t kLocalityDomain = 6;
  constexpr std::uint64_t kSecondDomainOfDevice0 = 0x100;
  const auto graph = run("graph");
  ASSERT_EQ(
      run("node", {graph.value(), 600 * kMiB, kLocalityDomain, kSecondDomainOfDevice0}).result, 0);
  const auto exec = run("instantiate", {graph.value()});
  ASSERT_EQ(run("launch", {exec.value()}).result, 0);
  ASSERT_EQ(run("destroy-graph", {graph.value()}).result, 0);
  ASSERT_EQ(run("destroy-exec", {exec.value()}).result, 0);
  EXPECT_EQ(used(), 600 * kMiB) << "the driver keeps it until it is trimmed";
}

TEST_F(CudaPoolsTest, ManagedPoolsCountOnTheCardOfTheContext) {
  constexpr std::uint64_t kManaged = 2;
  const auto made = run("pool", {0, 0, kManaged});
  ASSERT_EQ(run("alloc-from", {320 * kMiB, made.value()}).result, 0);
  EXPECT_EQ(used(), 320 * kMiB);
  for (const char* const which : {"default-pool-of", "current-pool-of"}) {
    const auto pool = run(which, {0, 0, kManaged});
    ASSERT_EQ(pool.result, 0);
    ASSERT_EQ(run("alloc-from", {320 * kMiB, pool.value()}).result, 0);
  }
  EXPECT_EQ(used(), 960 * kMiB);
  EXPECT_EQ(run("alloc-from", {320 * kMiB, made.value()}).result, kOutOfMemory);
}

}  // namespace
}  // namespace tangram::shim
