#include "node/hook/limits_folder.hpp"

#include "tests/node/hook/fake_host.hpp"

#include <gtest/gtest.h>

namespace tangram::node::hook {
namespace {

using namespace tangram::literals;

class LimitsFolderTest : public ::testing::Test {
 protected:
  static Limits limits(Mebibytes amount) {
    return {.nvidia = {{.card = "GPU-a", .amount = amount}}, .dmem = {}};
  }
  void write(const std::string& file, const std::string& text) const {
    FakeHost::write(folder_.path() + "/" + file, text);
  }

  testing::TempFolder folder_;
  const LimitsFolder both_{folder_.path()};
  const Leaf leaf_{.container = "4a5b",
                   .path = "/kubepods/pod0f1e/4a5b",
                   .inode = 18'446'744'073'709'551'615U,
                   .root = 1,
                   .filesystem = 7};
};

TEST_F(LimitsFolderTest, EachReadsWhatTheOtherWrote) {
  EXPECT_EQ(both_.limits().error().code, Errc::kNotFound);
  EXPECT_EQ(both_.leaf().error().code, Errc::kNotFound);
  Limits all = limits(16'255_mib);
  all.nvidia.push_back({.card = "GPU-b", .amount = 1_mib});
  all.dmem.push_back({.card = FakeHost::kRegion, .amount = 8'000_mib});
  ASSERT_TRUE(both_.put(all));
  ASSERT_TRUE(both_.put(leaf_));
  EXPECT_EQ(*both_.limits(), all);
  EXPECT_EQ(*both_.leaf(), leaf_);
}

TEST_F(LimitsFolderTest, RefusesWhatItDidNotWrite) {
  for (const char* text :
       {"", "{}", "[]", R"({"nvidia":[{"card":"GPU-a","memMiB":0}]})",
        R"({"nvidia":[{"card":"GPU-a","memMiB":-1}]})", R"({"nvidia":[{"card":"","memMiB":1}]})",
        R"({"dmem":[{"card":"GPU-a","memMiB":8796093022208}]})", R"({"nvidia":[{"memMiB":1}]})"}) {
    write("limits", text);
    EXPECT_EQ(both_.limits().error().code, Errc::kInvalidArgument) << text;
  }
  for (
      const char* text :
      {"", "{}", R"({"container":"4a5b","path":"/kubepods/other","inode":"7","root":"1"})",
       R"({"container":"4a5b","path":"/kubepods/4a5b","inode":"x","root":"1"})",
       R"({"container":"4a5b","path":"/kubepods/4a5b","inode":"7"})",
       R"({"container":"4a5b","path":"/kubepods/4a5b","inode":"7","root":"1","filesystem":"0"})"}) {
    write("leaf", text);
    EXPECT_EQ(both_.leaf().error().code, Errc::kInvalidArgument) << text;
  }
}

TEST_F(LimitsFolderTest, ALeafOfAnEarlierHookIsInCgroupV2) {
  write("leaf", R"({"container":"4a5b","path":"/kubepods/4a5b","inode":"7","root":"1"})");
  ASSERT_TRUE(both_.leaf());
  EXPECT_EQ(both_.leaf()->filesystem, kCgroup2);
}

TEST_F(LimitsFolderTest, AStartWithoutLimitsFails) {
  const auto set = [](const Limits&) -> Result<void> {
    ADD_FAILURE() << "nothing is to be set";
    return {};
  };
  EXPECT_EQ(limit_start(both_, leaf_, set).error().code, Errc::kNotFound);
  std::filesystem::remove_all(folder_.path());
  EXPECT_EQ(limit_start(both_, leaf_, set).error().code, Errc::kUnavailable);
}

TEST_F(LimitsFolderTest, AStartThatCannotSetItsLimitsFails) {
  ASSERT_TRUE(both_.put(limits(8_mib)));
  const auto set = [](const Limits&) -> Result<void> { return fail(Errc::kUnavailable, "no"); };
  EXPECT_EQ(limit_start(both_, leaf_, set).error().message, "no");
}

/// The agent writes limits, and sets them if it finds a leaf: each at one of these moments.
enum Moment { kBefore, kBeforeSet, kAfterSet, kAfter, kMoments };

class LimitMomentTest : public LimitsFolderTest {
 protected:
  void start_beside_agent() {
    std::filesystem::remove(folder_.path() + "/leaf");
    ASSERT_TRUE(both_.put(limits(8_mib)));
    agent(kBefore);
    bool first = true;
    const auto done = limit_start(both_, leaf_, [&](const Limits& read) -> Result<void> {
      if (first) agent(kBeforeSet);
      in_force_ = read.nvidia.at(0).amount;
      if (std::exchange(first, false)) agent(kAfterSet);
      return {};
    });
    ASSERT_TRUE(done);
    agent(kAfter);
  }
  void agent(int moment) {
    if (moment == writes_) {
      ASSERT_TRUE(both_.put(limits(4_mib)));
    }
    if (moment == sets_ && both_.leaf()) in_force_ = 4_mib;
  }

  int writes_ = kBefore;
  int sets_ = kBefore;
  Mebibytes in_force_;
};

TEST_F(LimitMomentTest, TheLastLimitsAreInForceAtTheEndWheneverTheAgentChangesThem) {
  for (writes_ = kBefore; writes_ < kMoments; ++writes_) {
    for (sets_ = writes_; sets_ < kMoments; ++sets_) {
      in_force_ = Mebibytes();
      ASSERT_NO_FATAL_FAILURE(start_beside_agent());
      EXPECT_EQ(in_force_, 4_mib) << "written at " << writes_ << ", set at " << sets_;
    }
  }
}

/// The driver, and what the agent and the hook do with it at the same time.
class LimitRaceTest : public LimitsFolderTest {
 protected:
  LimitRaceTest() { EXPECT_TRUE(both_.put(limits(8_mib))); }

  /// @param meanwhile  what the other does between set and read
  Result<void> set_and_read_back(const Limits& limits, const std::function<void()>& meanwhile) {
    ++sets_;
    const Mebibytes amount = limits.nvidia.at(0).amount;
    in_force_ = amount;
    meanwhile();
    if (in_force_ == amount) return {};
    return fail(Errc::kConflict, to_string(in_force_) + " stands");
  }
  /// @param meanwhile  between set and read, the first time
  Result<void> start(std::function<void()> meanwhile) {
    return limit_start(both_, leaf_, [&](const Limits& read) {
      return set_and_read_back(read, std::exchange(meanwhile, [] {}));
    });
  }
  Result<void> change(Mebibytes amount, std::function<void()> meanwhile) {
    EXPECT_TRUE(both_.put(limits(amount)));
    return limit_running(both_, limits(amount), [&](const Limits& wanted) {
      return set_and_read_back(wanted, std::exchange(meanwhile, [] {}));
    });
  }

  Mebibytes in_force_;
  int sets_ = 0;
};

TEST_F(LimitRaceTest, AStartThatMeetsAChangeHasTheLimitsOfTheChange) {
  for (const Mebibytes amount : {4_mib, 16_mib}) {
    const auto started = start([&] { EXPECT_TRUE(change(amount, [] {})); });
    ASSERT_TRUE(started) << started.error().message;
    EXPECT_EQ(in_force_, amount);
  }
}

TEST_F(LimitRaceTest, AChangeThatMeetsAStartIsInForce) {
  Result<void> changed = fail(Errc::kUnavailable, "it was not made");
  const auto started = limit_start(both_, leaf_, [&](const Limits& read) -> Result<void> {
    // The start has read the former limits, and sets them while the agent sets its own.
    if (!changed) changed = change(4_mib, [&] { in_force_ = 8_mib; });
    return set_and_read_back(read, [] {});
  });
  EXPECT_TRUE(changed) << changed.error().message;
  EXPECT_TRUE(started) << started.error().message;
  EXPECT_EQ(in_force_, 4_mib);
}

TEST_F(LimitRaceTest, WhereAnotherLimitStandsForGoodAStartFails) {
  const auto started = limit_start(both_, leaf_, [&](const Limits& read) {
    return set_and_read_back(read, [&] { in_force_ = 80_mib; });
  });
  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().message, "80MiB stands");
  EXPECT_EQ(sets_, kMostTries);
}

TEST_F(LimitRaceTest, WhatWasInForceBeforeAConflictIsSetAgain) {
  int calls = 0;
  const auto started = limit_start(both_, leaf_, [&](const Limits& read) {
    const bool first = ++calls == 1;
    return set_and_read_back(read, [&] {
      if (first) {
        ASSERT_TRUE(both_.put(limits(4_mib)));
      }
      if (calls != 2) return;
      ASSERT_TRUE(both_.put(limits(8_mib)));
      in_force_ = 80_mib;
    });
  });
  ASSERT_TRUE(started) << started.error().message;
  EXPECT_EQ(in_force_, 8_mib);
}

TEST_F(LimitRaceTest, WhereAnotherLimitStandsForGoodAChangeFails) {
  const auto changed = limit_running(both_, limits(8_mib), [&](const Limits& wanted) {
    return set_and_read_back(wanted, [&] { in_force_ = 80_mib; });
  });
  ASSERT_FALSE(changed);
  EXPECT_EQ(changed.error().code, Errc::kConflict);
  EXPECT_EQ(sets_, kMostTries);
}

TEST_F(LimitRaceTest, AChangeOfLimitsThatAreNoLongerWantedIsNotDone) {
  for (const bool conflict : {true, false}) {
    sets_ = 0;
    const auto changed = change(4_mib, [&] {
      ASSERT_TRUE(both_.put(limits(8_mib)));
      if (conflict) in_force_ = 8_mib;
    });
    ASSERT_FALSE(changed) << "it would seem to be lowered";
    EXPECT_EQ(changed.error().code, Errc::kStale);
    EXPECT_EQ(sets_, 1);
  }
}

TEST_F(LimitRaceTest, AnErrorOfTheDriverEndsAChange) {
  const auto changed = limit_running(both_, limits(8_mib), [&](const Limits&) -> Result<void> {
    ++sets_;
    return fail(Errc::kUnavailable, "no");
  });
  ASSERT_FALSE(changed);
  EXPECT_EQ(changed.error().message, "no");
  EXPECT_EQ(sets_, 1);
}

}  // namespace
}  // namespace tangram::node::hook
