// Which card an allocation counts on, whichever thread and context it or its end comes from.
#include "tests/shim/stand_in_rig.hpp"

#include <gtest/gtest.h>

#include <utility>

namespace tangram::shim {
namespace {

constexpr int kOutOfMemory = 2;
constexpr int kInvalidContext = 201;

/// A container with 1,000 MiB of one card and 500 MiB of another. The context of the first is
/// current.
class CudaPlacesTest : public ::testing::Test {
 protected:
  CudaPlacesTest() : rig_({{.limit = 1000 * kMiB}, {.limit = 500 * kMiB}}), client_(rig_) {
    EXPECT_EQ(client_.run("init").result, 0) << client_.errors();
  }
  Client::Answer run(const std::string& command,
                     std::initializer_list<std::uint64_t> numbers = {}) {
    return client_.run(words(command, numbers));
  }
  /// What is accounted on both cards, which must be what the driver has given.
  std::pair<std::uint64_t, std::uint64_t> used() {
    const std::pair accounted{rig_.accounted(0), rig_.accounted(1)};
    EXPECT_EQ(accounted, std::pair(rig_.really_used(0), rig_.really_used(1)));
    return accounted;
  }

  StandInRig rig_;
  Client client_;
};

TEST_F(CudaPlacesTest, AFreeCountsOnTheCardOfTheAllocationWhateverContextIsCurrent) {
  for (const char* const free : {"free", "free-async", "elsewhere free"}) {
    const auto pointer = run("alloc", {100 * kMiB});
    const auto context = run("context", {1});
    ASSERT_EQ(run("alloc", {50 * kMiB}).result, 0);
    ASSERT_EQ(run(free, {pointer.value()}).result, 0);
    EXPECT_EQ(used(), std::pair(0UL, 50 * kMiB)) << free;
    ASSERT_EQ(run("destroy-context", {context.value()}).result, 0);
    EXPECT_EQ(used(), std::pair(0UL, 0UL)) << free;
  }
}

TEST_F(CudaPlacesTest, AThreadWithoutAContextAllocatesHandlesAtTheirPlace) {
  const auto handle = run("elsewhere create", {400 * kMiB, 1, 1});
  ASSERT_EQ(handle.result, 0);
  EXPECT_EQ(used(), std::pair(0UL, 400 * kMiB));
  EXPECT_EQ(run("elsewhere create", {200 * kMiB, 1, 1}).result, kOutOfMemory);
  ASSERT_EQ(run("elsewhere release", {handle.value()}).result, 0);
  EXPECT_EQ(used(), std::pair(0UL, 0UL));
}

TEST_F(CudaPlacesTest, WithoutAContextTheDriverRefusesAsItDoes) {
  for (const char* const command :
       {"elsewhere alloc 4096", "elsewhere alloc-async 4096", "elsewhere array-2d 64 64",
        "elsewhere info", "elsewhere limit 2 1048576"}) {
    EXPECT_EQ(run(command).result, kInvalidContext) << command;
  }
  EXPECT_EQ(used(), std::pair(0UL, 0UL));
}

TEST_F(CudaPlacesTest, HandlesInMemoryOfTheHostCountOnNoCard) {
  constexpr std::uint64_t kHost = 2;
  constexpr std::uint64_t kHostNuma = 3;
  constexpr std::uint64_t kHostNumaCurrent = 4;
  for (const std::uint64_t place : {kHost, kHostNuma, kHostNumaCurrent}) {
    EXPECT_EQ(run("elsewhere create", {4000 * kMiB, place, 1}).result, 0) << place;
  }
  EXPECT_EQ(used(), std::pair(0UL, 0UL));
}

/// CUDA_VISIBLE_DEVICES numbers the cards anew in each process.
TEST(CudaCardsTest, ACardIsKnownByItsIdWhateverItsNumber) {
  StandInRig rig({{.limit = 1000 * kMiB}, {.limit = 500 * kMiB}});
  std::swap(rig.limits().cards[0].uuid, rig.limits().cards[1].uuid);
  Client client(rig);
  ASSERT_EQ(client.run("init").result, 0);
  EXPECT_EQ(client.run("total 0").value(), 500 * kMiB);
  EXPECT_EQ(client.run("total 1").value(), 1000 * kMiB);
  ASSERT_EQ(client.run(words("alloc", {400 * kMiB})).result, 0);
  EXPECT_EQ(rig.accounted(1), 400 * kMiB) << "the second of the limits";
  EXPECT_EQ(client.run(words("alloc", {200 * kMiB})).result, kOutOfMemory);
}

TEST_F(CudaPlacesTest, MemoryFromElsewhereIsFreedByTheDriverAndDoesNotCount) {
  for (const char* const free : {"free", "free-async"}) {
    const auto pointer = run("alloc-unseen", {100 * kMiB});
    ASSERT_EQ(pointer.result, 0);
    EXPECT_EQ(run(free, {pointer.value()}).result, 0) << free;
    ASSERT_EQ(run("synchronize").result, 0);
    EXPECT_EQ(used(), std::pair(0UL, 0UL)) << free;
  }
}

}  // namespace
}  // namespace tangram::shim
