// What a container is told of its memory, and that it never gets more, by each way to allocate.
#include "tests/shim/stand_in_rig.hpp"
#include "tests/testing/eventually.hpp"

#include <gtest/gtest.h>

#include <thread>

namespace tangram::shim {
namespace {

constexpr int kOutOfMemory = 2;
constexpr int kInvalidValue = 1;

/// A container with 1,000 MiB of a card.
class CudaMemoryTest : public ::testing::Test {
 protected:
  CudaMemoryTest() : rig_({{.limit = 1000 * kMiB}}), client_(rig_) {
    EXPECT_EQ(client_.run("init").result, 0) << client_.errors();
  }

  Client::Answer run(const std::string& command,
                     std::initializer_list<std::uint64_t> numbers = {}) {
    return client_.run(words(command, numbers));
  }
  std::uint64_t free_bytes() { return run("info").values.at(0); }
  /// What the driver and the page say, which must be the same.
  std::uint64_t used() {
    const std::uint64_t accounted = rig_.accounted();
    EXPECT_EQ(accounted, rig_.really_used());
    return accounted;
  }

  StandInRig rig_;
  Client client_;
};

TEST_F(CudaMemoryTest, ShowsTheShareInsteadOfTheCard) {
  EXPECT_EQ(run("info").values, (std::vector<std::uint64_t>{1000 * kMiB, 1000 * kMiB}));
  EXPECT_EQ(run("total", {0}).value(), 1000 * kMiB);
  ASSERT_EQ(run("alloc", {300 * kMiB}).result, 0);
  EXPECT_EQ(run("info").values, (std::vector<std::uint64_t>{700 * kMiB, 1000 * kMiB}));
}

TEST_F(CudaMemoryTest, ShowsHalfOfThe32GibCardExactly) {
  StandInRig rig;
  Client client(rig);
  ASSERT_EQ(client.run("init").result, 0);
  EXPECT_EQ(client.run("total 0").value() / kMiB, 16'255U);
  EXPECT_EQ(client.run("alloc " + std::to_string(16'256 * kMiB)).result, kOutOfMemory);
  EXPECT_EQ(client.run("alloc " + std::to_string(16'255 * kMiB)).result, 0);
}

TEST_F(CudaMemoryTest, AnswersWhereAProgramAsksForOneOfTheTwoNumbers) {
  EXPECT_EQ(run("info", {1}).values, (std::vector<std::uint64_t>{1000 * kMiB, 0}));
  EXPECT_EQ(run("info", {2}).values, (std::vector<std::uint64_t>{0, 1000 * kMiB}));
  EXPECT_EQ(run("info", {0}).result, kInvalidValue) << "as the driver answers";
}

TEST_F(CudaMemoryTest, NeverShowsMoreFreeThanTheCardHas) {
  StandInRig rig({{.bytes = 600 * kMiB, .limit = 1000 * kMiB}});
  Client client(rig);
  ASSERT_EQ(client.run("init").result, 0);
  EXPECT_EQ(client.run("info").values, (std::vector<std::uint64_t>{600 * kMiB, 600 * kMiB}));
}

TEST_F(CudaMemoryTest, GrantsTheLastByteAndNotOneMore) {
  const auto most = run("alloc", {998 * kMiB});
  ASSERT_EQ(most.result, 0);
  ASSERT_EQ(run("alloc", {kMiB}).result, 0);
  const auto all = run("alloc", {kMiB - 1});
  ASSERT_EQ(all.result, 0);
  EXPECT_EQ(run("alloc", {2}).result, kOutOfMemory);
  const auto last = run("alloc", {1});
  EXPECT_EQ(last.result, 0);
  EXPECT_EQ(used(), 1000 * kMiB);
  EXPECT_EQ(run("free", {all.value()}).result, 0);
  EXPECT_EQ(run("free", {last.value()}).result, 0);
  EXPECT_EQ(run("free", {most.value()}).result, 0);
  EXPECT_EQ(used(), kMiB);
}

TEST_F(CudaMemoryTest, CountsWhatTheDriverTakesForASize) {
  ASSERT_EQ(run("alloc", {1000}).result, 0);
  EXPECT_EQ(used(), 1000U) << "small ones share a block";
  const auto large = run("alloc", {5 * kMiB / 2});
  EXPECT_EQ(used(), 4 * kMiB + 1000);
  ASSERT_EQ(run("free", {large.value()}).result, 0);
  ASSERT_EQ(run("alloc", {990 * kMiB}).result, 0);
  EXPECT_EQ(used(), 990 * kMiB + 1000);
}

TEST_F(CudaMemoryTest, GrantsTheRestOfAShareThatIsNoWholeBlock) {
  StandInRig rig({{.limit = 3 * kMiB}});
  Client client(rig);
  ASSERT_EQ(client.run("init").result, 0);
  EXPECT_EQ(client.run(words("alloc", {3 * kMiB + 1})).result, kOutOfMemory);
  EXPECT_EQ(client.run(words("alloc", {3 * kMiB})).result, 0);
  EXPECT_EQ(rig.accounted(), 4 * kMiB) << "it has all of the last block";
  EXPECT_EQ(client.run("alloc 1").result, kOutOfMemory);
  EXPECT_EQ(client.run("info").value(), 0U);
}

TEST_F(CudaMemoryTest, RefusesSizesThatWrap) {
  EXPECT_EQ(run("alloc", {~std::uint64_t{0}}).result, kOutOfMemory);
  EXPECT_EQ(run("alloc", {std::uint64_t{17} << 40U}).result, kOutOfMemory);
  ASSERT_EQ(run("alloc", {1}).result, 0);
  EXPECT_EQ(run("alloc", {~std::uint64_t{0}}).result, kOutOfMemory);
  EXPECT_EQ(used(), 1U);
}

TEST_F(CudaMemoryTest, FreesOfWhatIsNotAllocatedChangeNothing) {
  ASSERT_EQ(run("alloc", {kMiB}).result, 0);
  EXPECT_EQ(run("free", {0}).result, 0);
  EXPECT_EQ(run("free", {12345}).result, kInvalidValue);
  EXPECT_EQ(used(), kMiB);
}

TEST_F(CudaMemoryTest, ASecondFreeChangesNothing) {
  const auto kept = run("alloc", {300 * kMiB});
  const auto freed = run("alloc", {200 * kMiB});
  ASSERT_EQ(run("free", {freed.value()}).result, 0);
  for (const char* const free : {"free", "free-async"}) {
    EXPECT_EQ(run(free, {freed.value()}).result, kInvalidValue);
    EXPECT_EQ(free_bytes(), 700 * kMiB) << free;
  }
  EXPECT_EQ(used(), 300 * kMiB);
  ASSERT_EQ(run("free", {kept.value()}).result, 0);
}

TEST_F(CudaMemoryTest, AnAddressThatIsUsedAgainUnseenCountsOnce) {
  const auto first = run("alloc", {100 * kMiB});
  ASSERT_EQ(run("free-unseen", {first.value()}).result, 0);
  const auto second = run("alloc", {100 * kMiB});
  ASSERT_EQ(second.value(), first.value());
  EXPECT_EQ(used(), 100 * kMiB);
  ASSERT_EQ(run("free", {second.value()}).result, 0);
  EXPECT_EQ(used(), 0U);
}

TEST_F(CudaMemoryTest, AnAllocationThatTheDriverRefusesIsNotAccounted) {
  rig_.cards().fail_next = 999;
  EXPECT_EQ(run("alloc", {kMiB}).result, 999);
  rig_.cards().fail_next = kOutOfMemory;
  EXPECT_EQ(run("create", {2 * kMiB, 1, 0}).result, kOutOfMemory);
  EXPECT_EQ(used(), 0U);
}

TEST_F(CudaMemoryTest, ManagedMemoryCountsUpToTheShare) {
  const auto managed = run("alloc-managed", {600 * kMiB});
  ASSERT_EQ(managed.result, 0);
  EXPECT_EQ(run("alloc-managed", {600 * kMiB}).result, kOutOfMemory);
  EXPECT_EQ(run("free", {managed.value()}).result, 0);
  EXPECT_EQ(used(), 0U);
}

TEST_F(CudaMemoryTest, APitchThatTheDriverWidensIsAccounted) {
  StandInRig rig({{.limit = 100 * kMiB, .pitch = 4096}});
  Client client(rig);
  ASSERT_EQ(client.run("init").result, 0);
  const auto rows = client.run("alloc-pitch 100 20480");  // 80 MiB with pitches of 4,096
  ASSERT_EQ(rows.result, 0);
  EXPECT_EQ(rows.values.at(1), 4096U);
  EXPECT_EQ(rig.accounted(), 80 * kMiB);
  EXPECT_EQ(client.run("alloc-pitch 100 10240").result, kOutOfMemory);
  EXPECT_EQ(rig.accounted(), 80 * kMiB);
  EXPECT_EQ(rig.really_used(), 80 * kMiB);
  EXPECT_EQ(client.run(words("free", {rows.value()})).result, 0);
  EXPECT_EQ(rig.accounted(), 0U);
}

TEST_F(CudaMemoryTest, ArraysCountAtLeastWhatTheyTake) {
  const auto volume = run("array", {1024, 1024, 100, 0});  // 400 MiB of floats
  ASSERT_EQ(volume.result, 0);
  const auto flat = run("array-2d", {1024, 1024});
  ASSERT_EQ(flat.result, 0);
  EXPECT_GE(rig_.accounted(), rig_.really_used());
  EXPECT_EQ(run("array", {1024, 1024, 200, 0}).result, kOutOfMemory);
  EXPECT_EQ(run("destroy-array", {volume.value()}).result, 0);
  EXPECT_EQ(run("destroy-array", {flat.value()}).result, 0);
  EXPECT_EQ(used(), 0U);
}

TEST_F(CudaMemoryTest, MipmapsCountWithAllTheirLevels) {
  const auto mipmap = run("mipmap", {8192, 8192, 0, 4, 0});
  ASSERT_EQ(mipmap.result, 0);
  EXPECT_GE(rig_.accounted(), rig_.really_used());
  EXPECT_GT(rig_.accounted(), 256 * kMiB);
  EXPECT_EQ(run("destroy-mipmap", {mipmap.value()}).result, 0);
  EXPECT_EQ(used(), 0U);
}

TEST_F(CudaMemoryTest, AMipmapHasAtLeastOneLevel) {
  ASSERT_EQ(run("mipmap", {8192, 8192, 0, 0, 0}).result, 0);
  EXPECT_EQ(used(), 256 * kMiB);
}

TEST_F(CudaMemoryTest, EachLevelOfAMipmapHasAllItsLayers) {
  constexpr std::uint64_t kLayered = 0x01;
  constexpr std::uint64_t kCubemap = 0x04;
  for (const std::uint64_t flags : {kLayered, kCubemap, kLayered | kCubemap}) {
    const auto mipmap = run("mipmap", {1024, 1024, 12, 3, flags});
    ASSERT_EQ(mipmap.result, 0);
    EXPECT_EQ(used(), 63 * kMiB) << "48 + 12 + 3 MiB";
    ASSERT_EQ(run("destroy-mipmap", {mipmap.value()}).result, 0);
  }
  ASSERT_EQ(run("mipmap", {1024, 1024, 16, 3, 0}).result, 0);
  EXPECT_EQ(used(), 73 * kMiB) << "a volume: 64 + 8 + 1 MiB";
}

TEST_F(CudaMemoryTest, ArraysWithoutMemoryOfTheirOwnDoNotCount) {
  constexpr std::uint64_t kSparse = 0x40;
  constexpr std::uint64_t kDeferred = 0x80;
  EXPECT_EQ(run("array", {16384, 16384, 100, kSparse}).result, 0);
  EXPECT_EQ(run("array", {16384, 16384, 100, kDeferred}).result, 0);
  EXPECT_EQ(used(), 0U);
}

TEST_F(CudaMemoryTest, AHandleCountsOnTheCardOfItsPlaceWhateverContextIsCurrent) {
  StandInRig rig({{.limit = 100 * kMiB}, {.limit = 50 * kMiB}});
  Client client(rig);
  ASSERT_EQ(client.run("init").result, 0);  // a context of the first card
  EXPECT_EQ(client.run(words("create", {60 * kMiB, 1, 1})).result, kOutOfMemory);
  EXPECT_EQ(client.run(words("create", {50 * kMiB, 1, 1})).result, 0);
  EXPECT_EQ(rig.accounted(0), 0U);
  EXPECT_EQ(rig.accounted(1), 50 * kMiB);
}

TEST_F(CudaMemoryTest, HandlesOfHostMemoryDoNotCount) {
  constexpr std::uint64_t kHost = 2;
  const auto host = run("create", {4000 * kMiB, kHost, 0});
  EXPECT_EQ(host.result, 0);
  EXPECT_EQ(used(), 0U);
  EXPECT_EQ(run("release", {host.value()}).result, 0);
  EXPECT_EQ(used(), 0U);
}

TEST_F(CudaMemoryTest, AReleasedHandleCountsAsLongAsItIsMapped) {
  const auto handle = run("create", {400 * kMiB, 1, 0});
  const auto address = run("reserve", {400 * kMiB});
  ASSERT_EQ(run("map", {address.value(), 400 * kMiB, handle.value()}).result, 0);
  ASSERT_EQ(run("release", {handle.value()}).result, 0);
  EXPECT_EQ(used(), 400 * kMiB);
  EXPECT_EQ(run("alloc", {700 * kMiB}).result, kOutOfMemory);
  ASSERT_EQ(run("unmap", {address.value(), 400 * kMiB}).result, 0);
  EXPECT_EQ(used(), 0U);
}

TEST_F(CudaMemoryTest, AHandleThatIsReleasedWhileItIsUnmappedCountsUntilBothAreDone) {
  const auto handle = run("create", {400 * kMiB, 1, 0});
  const auto address = run("reserve", {400 * kMiB});
  ASSERT_EQ(run("map", {address.value(), 400 * kMiB, handle.value()}).result, 0);
  rig_.cards().hold_release = 1;
  (void)run("aside release", {handle.value()});
  ASSERT_TRUE(testing::eventually([&] { return rig_.cards().hold_release == 2; }));
  (void)run("aside unmap", {address.value(), 400 * kMiB});
  EXPECT_EQ(used(), 400 * kMiB);
  rig_.cards().hold_release = 0;
  (void)run("join");
  EXPECT_EQ(used(), 0U);
}

TEST_F(CudaMemoryTest, ARetainedHandleCountsUntilItIsReleasedAgain) {
  const auto handle = run("create", {400 * kMiB, 1, 0});
  const auto address = run("reserve", {400 * kMiB});
  ASSERT_EQ(run("map", {address.value(), 400 * kMiB, handle.value()}).result, 0);
  ASSERT_EQ(run("release", {handle.value()}).result, 0);
  const auto retained = run("retain", {address.value() + kMiB});
  ASSERT_EQ(retained.result, 0);
  ASSERT_EQ(run("unmap", {address.value(), 400 * kMiB}).result, 0);
  EXPECT_EQ(used(), 400 * kMiB);
  ASSERT_EQ(run("release", {retained.value()}).result, 0);
  EXPECT_EQ(used(), 0U);
}

TEST_F(CudaMemoryTest, AnExportedHandleCountsOnceAsLongAsTheProcessLives) {
  const auto handle = run("create", {400 * kMiB, 1, 0});
  const auto shareable = run("export", {handle.value()});
  ASSERT_EQ(run("release", {handle.value()}).result, 0);
  EXPECT_EQ(used(), 400 * kMiB) << "what it was exported as keeps it alive";
  const auto imported = run("import", {shareable.value()});
  ASSERT_EQ(imported.result, 0);
  EXPECT_EQ(used(), 400 * kMiB);
  ASSERT_EQ(run("release", {imported.value()}).result, 0);
  EXPECT_EQ(used(), 400 * kMiB);
  EXPECT_EQ(run("alloc", {601 * kMiB}).result, kOutOfMemory);
}

TEST_F(CudaMemoryTest, ARefusedExportKeepsNothing) {
  const auto handle = run("create", {400 * kMiB, 1, 0});
  ASSERT_EQ(run("release", {handle.value()}).result, 0);
  EXPECT_EQ(run("export", {handle.value()}).result, kInvalidValue);
  const auto again = run("create", {400 * kMiB, 1, 0});
  rig_.cards().fail_exports = kInvalidValue;
  EXPECT_EQ(run("export", {again.value()}).result, kInvalidValue);
  ASSERT_EQ(run("release", {again.value()}).result, 0);
  EXPECT_EQ(used(), 0U);
}

TEST_F(CudaMemoryTest, WhatIsBoundToAMulticastObjectCountsAsLongAsTheProcessLives) {
  for (const char* const bind : {"as 12010 0 bind-v1", "as 13010 0 bind"}) {
    const auto handle = run("create", {100 * kMiB, 1, 0});
    ASSERT_EQ(run(bind, {handle.value(), 100 * kMiB}).result, 0);
    ASSERT_EQ(run("release", {handle.value()}).result, 0);
  }
  EXPECT_EQ(used(), 200 * kMiB);
  for (const char* const bind : {"as 12010 0 bind-address-v1", "as 13010 0 bind-address"}) {
    const auto handle = run("create", {100 * kMiB, 1, 0});
    const auto address = run("reserve", {100 * kMiB});
    ASSERT_EQ(run("map", {address.value(), 100 * kMiB, handle.value()}).result, 0);
    ASSERT_EQ(run("release", {handle.value()}).result, 0);
    ASSERT_EQ(run(bind, {address.value(), 100 * kMiB}).result, 0);
    ASSERT_EQ(run("unmap", {address.value(), 100 * kMiB}).result, 0);
  }
  EXPECT_EQ(used(), 400 * kMiB);
  EXPECT_EQ(run("bind-address", {4096, kMiB}).result, kInvalidValue);
  EXPECT_EQ(used(), 400 * kMiB);
}

TEST_F(CudaMemoryTest, AnImportedHandleOfAnotherProcessDoesNotCount) {
  constexpr std::uint64_t kOfAnother = 4096;
  const auto handle = run("import", {kOfAnother});
  const auto address = run("reserve", {400 * kMiB});
  ASSERT_EQ(run("map", {address.value(), 400 * kMiB, handle.value()}).result, 0);
  EXPECT_EQ(used(), 0U);
  ASSERT_EQ(run("unmap", {address.value(), 400 * kMiB}).result, 0);
  ASSERT_EQ(run("release", {handle.value()}).result, 0);
  EXPECT_EQ(used(), 0U);
}

TEST_F(CudaMemoryTest, OneCallUnmapsSeveralMappings) {
  const auto address = run("reserve", {30 * kMiB});
  for (std::uint64_t i = 0; i < 3; ++i) {
    const auto handle = run("create", {10 * kMiB, 1, 0});
    ASSERT_EQ(run("map", {address.value() + i * 10 * kMiB, 10 * kMiB, handle.value()}).result, 0);
    ASSERT_EQ(run("release", {handle.value()}).result, 0);
  }
  EXPECT_EQ(used(), 30 * kMiB);
  EXPECT_EQ(run("unmap", {address.value(), 15 * kMiB}).result, 0);
  EXPECT_EQ(used(), 10 * kMiB);
}

TEST_F(CudaMemoryTest, MemoryThatIsMappedToAnArrayCountsUntilItIsUnmapped) {
  constexpr std::uint64_t kSparse = 0x40;
  const auto array = run("array", {4096, 4096, 0, kSparse});
  for (const char* const as : {"as 11010 0 map-array", "as 11010 2 map-array"}) {
    const auto handle = run("create", {100 * kMiB, 1, 0});
    ASSERT_EQ(run(as, {array.value(), 0, handle.value()}).result, 0);
    ASSERT_EQ(run(as, {array.value(), 512, handle.value()}).result, 0);
    ASSERT_EQ(run("release", {handle.value()}).result, 0);
    EXPECT_EQ(used(), 100 * kMiB);
    ASSERT_EQ(run(as, {array.value(), 0, 0}).result, 0);
    EXPECT_EQ(used(), 100 * kMiB) << "there is another piece";
    ASSERT_EQ(run(as, {array.value(), 512, 0}).result, 0);
    EXPECT_EQ(used(), 0U);
  }
}

TEST_F(CudaMemoryTest, APieceOfAnArrayThatIsMappedAgainCountsOnce) {
  constexpr std::uint64_t kSparse = 0x40;
  const auto array = run("array", {4096, 4096, 0, kSparse});
  for (int i = 0; i < 3; ++i) {
    const auto handle = run("create", {100 * kMiB, 1, 0});
    ASSERT_EQ(run("map-array", {array.value(), 0, handle.value()}).result, 0);
    ASSERT_EQ(run("map-array", {array.value(), 0, handle.value()}).result, 0);
    ASSERT_EQ(run("release", {handle.value()}).result, 0);
    EXPECT_EQ(used(), 100 * kMiB);
  }
}

TEST_F(CudaMemoryTest, MemoryThatIsMappedToAnArrayEndsWithIt) {
  constexpr std::uint64_t kSparse = 0x40;
  const auto context = run("context", {0});
  const auto one = run("array", {4096, 4096, 0, kSparse});
  const auto two = run("array", {4096, 4096, 0, kSparse});
  for (const auto& array : {one, two}) {
    const auto handle = run("create", {100 * kMiB, 1, 0});
    ASSERT_EQ(run("map-array", {array.value(), 0, handle.value()}).result, 0);
    ASSERT_EQ(run("release", {handle.value()}).result, 0);
  }
  EXPECT_EQ(used(), 200 * kMiB);
  ASSERT_EQ(run("destroy-array", {one.value()}).result, 0);
  EXPECT_EQ(used(), 100 * kMiB);
  ASSERT_EQ(run("destroy-context", {context.value()}).result, 0);
  EXPECT_EQ(used(), 0U) << "the other array ended with its context";
}

TEST_F(CudaMemoryTest, TheMemoryOfAContextEndsWithIt) {
  const auto context = run("context", {0});
  ASSERT_EQ(run("alloc", {100 * kMiB}).result, 0);
  ASSERT_EQ(run("array-2d", {1024, 1024}).result, 0);
  const auto handle = run("create", {50 * kMiB, 1, 0});
  ASSERT_EQ(run("destroy-context", {context.value()}).result, 0);
  EXPECT_EQ(used(), 50 * kMiB) << "a handle belongs to no context";
  ASSERT_EQ(run("release", {handle.value()}).result, 0);
  EXPECT_EQ(used(), 0U);
}

TEST_F(CudaMemoryTest, ANewContextWithTheHandleOfAnEndedOneKeepsItsMemory) {
  const auto context = run("context", {0});
  ASSERT_EQ(run("alloc", {100 * kMiB}).result, 0);
  rig_.cards().hold = 1;
  (void)run("aside destroy-context", {context.value()});
  while (rig_.cards().hold != 2) std::this_thread::yield();
  ASSERT_EQ(run("context", {0}).value(), context.value());
  ASSERT_EQ(run("alloc", {200 * kMiB}).result, 0);
  rig_.cards().hold = 0;
  (void)run("join");
  EXPECT_EQ(used(), 200 * kMiB);
}

TEST_F(CudaMemoryTest, AContextThatWasAttachedEndsWithItsLastDetach) {
  const auto context = run("context", {0});
  ASSERT_EQ(run("alloc", {100 * kMiB}).result, 0);
  ASSERT_EQ(run("attach").result, 0);
  ASSERT_EQ(run("detach", {context.value()}).result, 0);
  EXPECT_EQ(used(), 100 * kMiB);
  ASSERT_EQ(run("detach", {context.value()}).result, 0);
  EXPECT_EQ(used(), 0U);
}

TEST_F(CudaMemoryTest, ARefusedEndOfAContextLeavesItsMemory) {
  const auto context = run("context", {0});
  ASSERT_EQ(run("destroy-context", {context.value()}).result, 0);
  constexpr int kInvalidContext = 201;
  EXPECT_EQ(run("destroy-context", {context.value()}).result, kInvalidContext);
  EXPECT_EQ(run("release-primary", {0}).result, kInvalidContext);
  EXPECT_EQ(used(), 0U);
}

TEST_F(CudaMemoryTest, APrimaryContextThatBeginsAgainAtOnceBeginsWithoutMemory) {
  ASSERT_EQ(run("primary", {0}).result, 0);
  ASSERT_EQ(run("alloc", {100 * kMiB}).result, 0);
  rig_.cards().hold = 1;
  (void)run("aside release-primary", {0});
  while (rig_.cards().hold != 2) std::this_thread::yield();
  (void)run("aside primary", {0});
  rig_.cards().hold = 0;
  (void)run("join");
  EXPECT_EQ(used(), 0U);
}

TEST_F(CudaMemoryTest, APrimaryContextEndsWithItsLastRelease) {
  ASSERT_EQ(run("primary", {0}).result, 0);
  ASSERT_EQ(run("primary", {0}).result, 0);
  ASSERT_EQ(run("alloc", {100 * kMiB}).result, 0);
  ASSERT_EQ(run("release-primary", {0}).result, 0);
  EXPECT_EQ(used(), 100 * kMiB);
  ASSERT_EQ(run("release-primary", {0}).result, 0);
  EXPECT_EQ(used(), 0U);
}

TEST_F(CudaMemoryTest, AResetEndsThePrimaryContext) {
  ASSERT_EQ(run("primary", {0}).result, 0);
  ASSERT_EQ(run("alloc", {100 * kMiB}).result, 0);
  ASSERT_EQ(run("reset-primary", {0}).result, 0);
  EXPECT_EQ(used(), 0U);
}

TEST_F(CudaMemoryTest, ALargerHeapOfKernelsCounts) {
  constexpr std::uint64_t kHeap = 2;
  EXPECT_EQ(run("limit", {kHeap, 2000 * kMiB}).result, kOutOfMemory);
  ASSERT_EQ(run("limit", {kHeap, 508 * kMiB}).result, 0);
  EXPECT_EQ(used(), 500 * kMiB);
  EXPECT_EQ(run("alloc", {501 * kMiB}).result, kOutOfMemory);
  ASSERT_EQ(run("limit", {kHeap, 108 * kMiB}).result, 0);
  EXPECT_EQ(used(), 100 * kMiB);
}

TEST_F(CudaMemoryTest, StacksOfAllThreadsThatFitNowhereAreRefused) {
  constexpr std::uint64_t kStack = 0;
  EXPECT_EQ(run("limit", {kStack, 512U << 10U}).result, kOutOfMemory);
  EXPECT_EQ(run("limit", {kStack, ~std::uint64_t{0}}).result, kOutOfMemory);
  EXPECT_EQ(run("limit", {kStack, 4096}).result, 0);
}

TEST_F(CudaMemoryTest, TheOverheadThatTheAgentSeesIsTakenOffTheLimit) {
  rig_.limits().cards[0].overhead_bytes = 300 * kMiB;
  EXPECT_EQ(run("info").values, (std::vector<std::uint64_t>{700 * kMiB, 1000 * kMiB}));
  EXPECT_EQ(run("alloc", {701 * kMiB}).result, kOutOfMemory);
  EXPECT_EQ(run("alloc", {700 * kMiB}).result, 0);
  rig_.limits().cards[0].overhead_bytes = 2000 * kMiB;
  EXPECT_EQ(run("alloc", {1}).result, kOutOfMemory);
  EXPECT_EQ(free_bytes(), 0U);
}

TEST_F(CudaMemoryTest, AChangedLimitCountsAtOnce) {
  ASSERT_EQ(run("alloc", {900 * kMiB}).result, 0);
  rig_.limits().cards[0].memory_bytes = 500 * kMiB;
  EXPECT_EQ(run("info").values, (std::vector<std::uint64_t>{0, 500 * kMiB}));
  EXPECT_EQ(run("alloc", {1}).result, kOutOfMemory);
  rig_.limits().cards[0].memory_bytes = 2000 * kMiB;
  EXPECT_EQ(run("alloc", {1100 * kMiB}).result, 0);
}

TEST_F(CudaMemoryTest, ACardWithoutALimitIsTheDriversMatter) {
  StandInRig rig({{.limit = 100 * kMiB}, {.limit = 100 * kMiB}});
  rig.limits().card_count = 1;
  Client client(rig);
  ASSERT_EQ(client.run("init").result, 0);
  ASSERT_EQ(client.run("context 1").result, 0);
  EXPECT_EQ(client.run("total 1").value(), 32'510 * kMiB);
  EXPECT_EQ(client.run(words("alloc", {200 * kMiB})).result, 0);
}

TEST_F(CudaMemoryTest, WhatIsNoDeviceIsTheDriversMatter) {
  constexpr int kNotInitialized = 3;
  constexpr int kInvalidDevice = 101;
  EXPECT_EQ(run("create", {2 * kMiB, 1, 7}).result, kInvalidDevice);
  Client client(rig_);
  EXPECT_EQ(client.run(words("create", {2 * kMiB, 1, 0})).result, kNotInitialized);
}

TEST_F(CudaMemoryTest, NamesTheLimitInOneLineIfThatIsWanted) {
  Client client(rig_, "plain", {"TANGRAM_LOG=1"});
  ASSERT_EQ(client.run("init").result, 0);
  ASSERT_EQ(client.run(words("alloc", {2000 * kMiB})).result, kOutOfMemory);
  EXPECT_EQ(client.errors(),
            "tangram: cuMemAlloc() of 2097152000 bytes is refused: the limit of card 0 is 1000 "
            "MiB, of which 1000 MiB are free\n");
  EXPECT_EQ(client_.errors(), "");
}

}  // namespace
}  // namespace tangram::shim
