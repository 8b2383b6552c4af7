#include "node/container/hook_limiter.hpp"

#include "node/hook/dmem.hpp"
#include "node/hook/limit_memory.hpp"
#include "tests/node/hook/fake_host.hpp"

#include <gtest/gtest.h>

namespace tangram::node {
namespace {

using hook::FakeHost;

model::GrantedCard card(const std::string& id, std::int64_t limit) {
  model::GrantedCard card;
  card.uuid = id;
  card.memory_limit = Mebibytes(limit);
  return card;
}

/// A vendor whose cards are regions of the kernel's, over a folder for the host's cgroup v2.
class HookLimiterTest : public ::testing::Test {
 protected:
  static Result<hook::Limits> limits_of(const std::vector<model::GrantedCard>& cards) {
    hook::Limits limits;
    for (const auto& each : cards) {
      if (each.uuid == "gone") return fail(Errc::kNotFound, "there is no card gone");
      limits.dmem.push_back({.card = each.uuid, .amount = each.memory_limit});
    }
    return limits;
  }
  HookedDriver driver() {
    return {.limits = limits_of,
            .arguments =
                [](const CdiEdits&) {
                  return std::vector<std::string>{"--proc", "/p"};
                },
            .set = [this](const std::string& cgroup, const hook::Limits& limits) -> Result<void> {
              return hook::limit_memory(cgroup, {{kernel_, limits.dmem}});
            },
            .in_use =
                [this](const std::string& cgroup, const hook::Limits& limits) {
                  return kernel_.in_use(cgroup, limits.dmem.at(0).card);
                }};
  }
  /// The agent prepares the start, and the hook limits the container.
  void run(std::int64_t amount) {
    CdiEdits vendor;
    ASSERT_TRUE(limiter_.limit("a-1", {card(FakeHost::kRegion, amount)}, vendor));
    const auto leaf = hook::leaf_of(FakeHost::container(), host_.folders());
    ASSERT_TRUE(leaf) << leaf.error().message;
    const auto started = hook::limit_start(
        hook::LimitsFolder(folder() + "/a-1"), *leaf, [&](const hook::Limits& limits) {
          return hook::limit_memory(host_.leaf(), {{kernel_, limits.dmem}});
        });
    ASSERT_TRUE(started) << started.error().message;
  }
  [[nodiscard]] std::string folder() const { return host_.folder() + "/limits"; }
  [[nodiscard]] std::string in_force() const {
    return FakeHost::text_of(host_.leaf() + "/dmem.max");
  }

  FakeHost host_;
  hook::DmemLimiter kernel_{host_.cgroup_root()};
  HookLimiter limiter_{{.hook = "/hook", .folder = folder(), .cgroups = host_.cgroup_root()},
                       driver()};
};

TEST_F(HookLimiterTest, GivesTheHookTheVendorsArguments) {
  CdiEdits vendor;
  ASSERT_TRUE(limiter_.limit("a-1", {card(FakeHost::kRegion, 100)}, vendor));
  EXPECT_NE(
      vendor.lists.at("hooks").at(0).find(R"("--limits",")" + folder() + R"(/a-1","--proc","/p"])"),
      std::string::npos)
      << vendor.lists.at("hooks").at(0);
}

TEST_F(HookLimiterTest, ARunningContainerHasANewLimitAtOnce) {
  run(90);
  ASSERT_EQ(in_force(), std::string(FakeHost::kRegion) + " 94371840\n");
  ASSERT_TRUE(limiter_.change("a-1", {card(FakeHost::kRegion, 50)}));
  EXPECT_EQ(in_force(), std::string(FakeHost::kRegion) + " 52428800\n");
  FakeHost::write(host_.leaf() + "/dmem.current", std::string(FakeHost::kRegion) + " 4096\n");
  EXPECT_EQ(*limiter_.in_use("a-1", FakeHost::kRegion), 4096U);
}

TEST_F(HookLimiterTest, ACardThatTheVendorDoesNotKnowChangesNothing) {
  CdiEdits vendor;
  EXPECT_EQ(limiter_.limit("b-1", {card("gone", 1)}, vendor).error().code, Errc::kNotFound);
  EXPECT_EQ(vendor, CdiEdits{});
  run(100);
  EXPECT_EQ(limiter_.change("a-1", {card("gone", 1)}).error().code, Errc::kNotFound);
  EXPECT_EQ(limiter_.change("a-1", {card(FakeHost::kOtherRegion, 1)}).error().code,
            Errc::kNotFound);
  EXPECT_EQ(limiter_.in_use("a-1", FakeHost::kOtherRegion).error().code, Errc::kNotFound);
  EXPECT_EQ(in_force(), std::string(FakeHost::kRegion) + " 104857600\n");
}

TEST_F(HookLimiterTest, TheHookBringsItsOwnLibc) {
  const auto files = memory_hook_files("/usr/bin/tangram-memory-hook");
  EXPECT_EQ(files.front(), "/usr/bin/tangram-memory-hook");
  EXPECT_EQ(files.at(1), "/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2");
  EXPECT_EQ(files.size(), 7U);
}

}  // namespace
}  // namespace tangram::node
