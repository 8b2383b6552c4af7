// Changes of limits in running containers, over a fake NVML and a folder for the host's cgroup v2.

#include "node/vendor/nvidia/driver_limiter.hpp"
#include "tests/node/hook/fake_host.hpp"
#include "tests/node/vendor/nvidia/fake_machine.hpp"

#include <gtest/gtest.h>

#include <filesystem>

namespace tangram::node::nvidia {
namespace {

using hook::FakeHost;
namespace fs = std::filesystem;

class DriverChangeTest : public ::testing::Test {
 protected:
  DriverChangeTest() { play(R"({"uuid": "GPU-a", "memMiB": 32510})"); }

  /// @param card  of the script: GPU-a
  void play(const std::string& card, const std::string& members = "") const {
    machine_.play(R"({"driverVersion": "615.71.09", "memoryLimits": ")" + machine_.folder() +
                  "/recorded\", " + members + R"("cards": [)" + card +
                  R"(, {"uuid": "GPU-b", "memMiB": 81920}]})");
  }
  /// The agent prepares the container's start.
  void prepare(std::int64_t a, std::int64_t b) {
    CdiEdits vendor;
    vendor.lists["mounts"].push_back(
        R"({"hostPath":"/lib/libnvidia-ml.so.615.1","containerPath":"/lib/libnvidia-ml.so.615.1"})");
    const auto limited = limiter_.limit("a-1", {card("GPU-a", a), card("GPU-b", b)}, vendor);
    ASSERT_TRUE(limited) << limited.error().message;
  }
  /// The hook limits the container that starts.
  void start() {
    const auto leaf = hook::leaf_of(FakeHost::container(), host_.folders());
    ASSERT_TRUE(leaf) << leaf.error().message;
    const auto set = [&](const hook::Limits& limits) {
      return set_memory_limits(places_.limiter, host_.leaf(), limits);
    };
    const auto started = limit_start(allocation(), *leaf, set);
    ASSERT_TRUE(started) << started.error().message;
    recorded_before_ = FakeHost::text_of(machine_.folder() + "/recorded").size();
  }
  void run(std::int64_t a, std::int64_t b) {
    prepare(a, b);
    start();
  }
  static model::GrantedCard card(const std::string& id, std::int64_t limit) {
    model::GrantedCard card;
    card.uuid = id;
    card.memory_limit = Mebibytes(limit);
    return card;
  }
  [[nodiscard]] hook::LimitsFolder allocation() const {
    return hook::LimitsFolder(places_.folder + "/a-1");
  }
  /// Of the files, in MiB.
  [[nodiscard]] std::string limits() const {
    const auto all = allocation().limits();
    std::string text;
    for (const auto& limit : all->nvidia) text += to_string(limit.amount) + " ";
    return text;
  }
  /// What was set in the driver since the start: card, cgroup, soft and hard limit in bytes.
  [[nodiscard]] std::string recorded() const {
    return FakeHost::text_of(machine_.folder() + "/recorded").substr(recorded_before_);
  }
  void expect_failure(Errc code, const std::string& words, std::int64_t limit = 50) {
    const auto changed = limiter_.change("a-1", {card("GPU-a", limit)});
    ASSERT_FALSE(changed);
    EXPECT_EQ(changed.error().code, code);
    EXPECT_NE(changed.error().message.find(words), std::string::npos) << changed.error().message;
  }

  FakeHost host_;
  const FakeMachine machine_{"{}"};
  const DriverLimiter::Places places_{
      .hook = "/hook",
      .folder = host_.folder() + "/limits",
      .limiter = {.find_nvml = [] { return kFakeNvml; }, .cgroups = host_.cgroup_root()}};
  DriverLimiter limiter_{places_};
  std::size_t recorded_before_ = 0;
};

TEST_F(DriverChangeTest, ARunningContainerHasTheLimitAtOnce) {
  run(100, 200);
  ASSERT_TRUE(limiter_.change("a-1", {card("GPU-a", 50)}));
  EXPECT_EQ(recorded(), "GPU-a " + host_.leaf() + " 0 52428800\n")
      << "the other card is left alone";
  EXPECT_EQ(limits(), "50MiB 200MiB ") << "also if the runtime starts the container again";
}

TEST_F(DriverChangeTest, AContainerThatStartsMeanwhileHasIt) {
  prepare(100, 200);
  expect_failure(Errc::kNotFound, "no container has started with its limits");
  EXPECT_EQ(recorded(), "");
  const auto leaf = hook::leaf_of(FakeHost::container(), host_.folders());
  hook::Limits set;
  ASSERT_TRUE(limit_start(allocation(), *leaf, [&](const hook::Limits& limits) -> Result<void> {
    set = limits;
    return {};
  }));
  EXPECT_EQ(set.nvidia.at(0).amount, Mebibytes(50));
}

TEST_F(DriverChangeTest, AContainerThatEndedHasItWhenItStartsAgain) {
  run(100, 200);
  fs::rename(host_.leaf(), host_.folder() + "/gone");
  ASSERT_TRUE(limiter_.change("a-1", {card("GPU-a", 50)}));
  EXPECT_EQ(recorded(), "");
  EXPECT_EQ(limits(), "50MiB 200MiB ");
}

TEST_F(DriverChangeTest, ACgroupThatTookThePathIsLeftAlone) {
  run(100, 200);
  fs::rename(host_.leaf(), host_.folder() + "/gone");
  fs::create_directories(host_.leaf());
  ASSERT_TRUE(limiter_.change("a-1", {card("GPU-a", 50)}));
  EXPECT_EQ(recorded(), "");
}

TEST_F(DriverChangeTest, WhatStartsAgainReplacesTheRecord) {
  run(100, 200);
  fs::rename(host_.leaf(), host_.folder() + "/gone");
  FakeHost::write(host_.leaf() + "/cgroup.procs", "4711\n");
  run(100, 200);
  ASSERT_TRUE(limiter_.change("a-1", {card("GPU-a", 50)}));
  EXPECT_EQ(recorded(), "GPU-a " + host_.leaf() + " 0 52428800\n");
}

TEST_F(DriverChangeTest, NothingIsKnownOfAnotherAllocationOrCard) {
  run(100, 200);
  EXPECT_EQ(limiter_.change("b-1", {card("GPU-a", 50)}).error().code, Errc::kNotFound);
  EXPECT_FALSE(fs::exists(places_.folder + "/b-1"));
  const auto changed = limiter_.change("a-1", {card("GPU-a", 50), card("GPU-c", 50)});
  EXPECT_EQ(changed.error().code, Errc::kNotFound);
  EXPECT_EQ(limits(), "100MiB 200MiB ");
  EXPECT_EQ(recorded(), "");
}

TEST_F(DriverChangeTest, WhatTheDriverDoesNotDoNowIsTriedAgain) {
  run(100, 200);
  play(R"({"uuid": "GPU-a", "memMiB": 32510})", R"("driver": "down", )");
  expect_failure(Errc::kUnavailable, "Driver Not Loaded");
  play(R"({"uuid": "GPU-a", "memMiB": 32510, "keptLimitMiB": 100})");  // more is in use
  expect_failure(Errc::kUnavailable, "and one of 104857600 bytes is in force");
  play(R"({"uuid": "GPU-a", "memMiB": 32510, "lost": true})");
  expect_failure(Errc::kUnavailable, "reset the card");
}

TEST_F(DriverChangeTest, AContainerWithCgroupsOfItsOwnCannotBeChanged) {
  run(100, 200);
  fs::create_directories(host_.leaf() + "/init.scope");
  expect_failure(Errc::kConflict, "is no leaf");
  EXPECT_EQ(recorded(), "");
}

TEST_F(DriverChangeTest, AnAgentThatDoesNotSeeTheHostsCgroupsChangesNothing) {
  run(100, 200);
  DriverLimiter::Places places = places_;
  places.limiter.cgroups = host_.proc();
  DriverLimiter blind(places);
  EXPECT_EQ(blind.change("a-1", {card("GPU-a", 50)}).error().code, Errc::kUnavailable);
  EXPECT_EQ(blind.in_use("a-1", "GPU-a").error().code, Errc::kUnavailable);
  EXPECT_EQ(recorded(), "");
}

TEST_F(DriverChangeTest, CountsWhatTheCgroupHas) {
  play(R"({"uuid": "GPU-a", "memMiB": 32510, "cgroupUsedMiB": 70})");
  EXPECT_EQ(limiter_.in_use("a-1", "GPU-a").error().code, Errc::kNotFound);
  run(100, 200);
  EXPECT_EQ(*limiter_.in_use("a-1", "GPU-a"), 70U << 20U);
  EXPECT_EQ(*limiter_.in_use("a-1", "GPU-b"), 0U);
  EXPECT_EQ(limiter_.in_use("a-1", "GPU-c").error().code, Errc::kNotFound);
  fs::rename(host_.leaf(), host_.folder() + "/gone");
  EXPECT_EQ(*limiter_.in_use("a-1", "GPU-a"), 0U) << "no process is left";
}

TEST_F(DriverChangeTest, KeepsWhatIsAllocated) {
  run(100, 200);
  limiter_.keep({"a-1"});
  EXPECT_EQ(limits(), "100MiB 200MiB ");
  limiter_.keep({});
  EXPECT_FALSE(fs::exists(places_.folder + "/a-1"));
}

}  // namespace
}  // namespace tangram::node::nvidia
