#include "node/hook/dmem.hpp"

#include "tests/node/hook/fake_host.hpp"

#include <gtest/gtest.h>

#include <filesystem>

namespace tangram::node::hook {
namespace {

using namespace tangram::literals;

class DmemTest : public ::testing::Test {
 protected:
  void expect_unchecked(const std::string& region, Errc code, const std::string& message) {
    const auto checked = limiter_.check(host_.leaf(), region);
    ASSERT_FALSE(checked);
    EXPECT_EQ(checked.error().code, code);
    EXPECT_NE(checked.error().message.find(message), std::string::npos) << checked.error().message;
    EXPECT_EQ(FakeHost::text_of(host_.leaf() + "/dmem.max"), "");
  }
  /// In place of the kernel's file, another one of the system.
  void replace_max(const std::string& target) const {
    std::filesystem::remove(host_.leaf() + "/dmem.max");
    std::filesystem::create_symlink(target, host_.leaf() + "/dmem.max");
  }

  FakeHost host_;
  DmemLimiter limiter_{host_.cgroup_root()};
};

TEST_F(DmemTest, WritesOneRegionInBytes) {
  ASSERT_TRUE(limiter_.check(host_.leaf(), FakeHost::kRegion));
  ASSERT_TRUE(limiter_.set(host_.leaf(), {.card = FakeHost::kRegion, .amount = 16'255_mib}));
  // 16255 * 2^20
  EXPECT_EQ(FakeHost::text_of(host_.leaf() + "/dmem.max"), "drm/0000:03:00.0/vram0 17044602880\n");
  EXPECT_EQ(*limiter_.read(host_.leaf(), FakeHost::kRegion), 17'044'602'880U);
}

TEST_F(DmemTest, ReadsTheRegionsOwnLine) {
  FakeHost::write(host_.leaf() + "/dmem.max", std::string(FakeHost::kOtherRegion) + " 1048576\n" +
                                                  FakeHost::kRegion + "0 5\n" + FakeHost::kRegion +
                                                  " max\n");
  EXPECT_EQ(*limiter_.read(host_.leaf(), FakeHost::kRegion), kNoLimit);
  EXPECT_EQ(*limiter_.read(host_.leaf(), FakeHost::kOtherRegion), 1'048'576U);
}

TEST_F(DmemTest, ReadsWhatIsInUse) {
  EXPECT_EQ(limiter_.in_use(host_.leaf(), FakeHost::kRegion).error().code, Errc::kNotFound);
  FakeHost::write(host_.leaf() + "/dmem.current",
                  std::string(FakeHost::kOtherRegion) + " 5\n" + FakeHost::kRegion + " 7\n");
  EXPECT_EQ(*limiter_.in_use(host_.leaf(), FakeHost::kRegion), 7U);
}

TEST_F(DmemTest, NeedsTheRegion) {
  expect_unchecked("drm/0000:04:00.0/vram0", Errc::kNotFound, "no card has the region");
  expect_unchecked("drm/0000:03:00.0", Errc::kNotFound, "no card has the region");
  expect_unchecked("drm/0000:03:00.0/vram0 1\ndrm/x", Errc::kNotFound, "no card has the region");
}

TEST_F(DmemTest, NeedsTheKernelsController) {
  std::filesystem::remove(host_.cgroup_root() + "/dmem.capacity");
  expect_unchecked(FakeHost::kRegion, Errc::kUnavailable, "Linux 6.14");
}

TEST_F(DmemTest, NeedsTheControllerInTheLeaf) {
  std::filesystem::remove(host_.leaf() + "/dmem.max");
  expect_unchecked(FakeHost::kRegion, Errc::kUnavailable, "+dmem to cgroup.subtree_control");
  EXPECT_FALSE(limiter_.set(host_.leaf(), {.card = FakeHost::kRegion, .amount = 1_mib}));
  EXPECT_FALSE(std::filesystem::exists(host_.leaf() + "/dmem.max"));
}

TEST_F(DmemTest, PassesTheKernelsReasonOn) {
  replace_max("/dev/full");
  const auto set = limiter_.set(host_.leaf(), {.card = FakeHost::kRegion, .amount = 1_mib});
  ASSERT_FALSE(set);
  EXPECT_EQ(set.error().code, Errc::kUnavailable);
  EXPECT_NE(set.error().message.find("No space left"), std::string::npos) << set.error().message;
}

TEST_F(DmemTest, AVanishedRegionHasNoLimit) {
  replace_max("/dev/null");
  ASSERT_TRUE(limiter_.set(host_.leaf(), {.card = FakeHost::kRegion, .amount = 1_mib}));
  const auto read = limiter_.read(host_.leaf(), FakeHost::kRegion);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, Errc::kNotFound);
}

}  // namespace
}  // namespace tangram::node::hook
