#include "node/resize/resizer.hpp"

#include "tests/node/resize/resize_rig.hpp"

#include <gtest/gtest.h>

namespace tangram::node {

namespace {

using model::ResizeAnswer;

constexpr std::int64_t kCard = 81'920;  // MiB of the rig's card

class ResizerTest : public ::testing::Test {
 protected:
  static bool says(const std::string& text, const std::string& words) {
    return text.find(words) != std::string::npos;
  }
  ResizeRig rig;
};

TEST_F(ResizerTest, WithoutARevisionThereIsNothingToAnswer) {
  rig.run("a", ResizeRig::grant("a", 0, {share(8192, 500)}));
  rig.look();
  ASSERT_TRUE(rig.resizer->state());
  EXPECT_TRUE(rig.resizer->state()->answers.empty());
  EXPECT_TRUE(rig.source.asked.empty()) << "the driver is asked for nothing";
  EXPECT_EQ(rig.changes, 1) << "the first look";
}

TEST_F(ResizerTest, NothingIsKnownUntilThePodsAre) {
  rig.pods.reachable(false, true);
  rig.look();
  EXPECT_FALSE(rig.resizer->state());
}

TEST_F(ResizerTest, ShrinksARunningContainer) {
  rig.run("a", ResizeRig::grant("a", 0, {share(8192, 500)}));
  rig.use("a", 1000);
  rig.annotate("a", ResizeRig::grant("a", 1, {share(4096, 250)}));
  rig.look();
  EXPECT_EQ(rig.limit("a.main"), 4096) << "at once";
  EXPECT_EQ(rig.limit_in_journal("a.main"), 8192) << "others may not have it yet";
  EXPECT_EQ(rig.answer("a"), (ResizeAnswer{0, 0, {}}));
  rig.look();
  EXPECT_EQ(rig.card_in_journal("a.main"), share(4096, 250));
  EXPECT_EQ(rig.limit("a.main"), 4096);
  EXPECT_EQ(rig.answer("a"), (ResizeAnswer{1, 0, {}}));
  EXPECT_EQ(rig.resizer->counts().applied, 1U);
  EXPECT_EQ(rig.events, std::vector<std::string>{"Resized a main: 4096MiB and 250mGPU of GPU-1"});
  EXPECT_EQ(rig.resizer->applied_revision("uid-a"), 1);
}

TEST_F(ResizerTest, ALookThatFollowsAtOnceIsTooSoonForAShrink) {
  rig.run("a", ResizeRig::grant("a", 0, {share(8192, 500)}));
  rig.annotate("a", ResizeRig::grant("a", 1, {share(4096, 250)}));
  rig.look();
  rig.resizer->look();
  EXPECT_EQ(rig.answer("a"), (ResizeAnswer{0, 0, {}}));
  rig.look();
  EXPECT_EQ(rig.answer("a"), (ResizeAnswer{1, 0, {}}));
}

TEST_F(ResizerTest, GrowsARunningContainer) {
  rig.run("a", ResizeRig::grant("a", 0, {share(8192, 500)}));
  rig.annotate("a", ResizeRig::grant("a", 1, {share(kCard, 999)}));
  rig.look();
  EXPECT_EQ(rig.card_in_journal("a.main"), share(kCard, 999));
  EXPECT_EQ(rig.limit("a.main"), kCard);
  EXPECT_EQ(rig.answer("a"), (ResizeAnswer{1, 0, {}}));
}

TEST_F(ResizerTest, GrowsOneAmountAndShrinksTheOther) {
  rig.run("a", ResizeRig::grant("a", 0, {share(8192, 500)}));
  rig.annotate("a", ResizeRig::grant("a", 1, {share(4096, 900)}));
  rig.look();
  EXPECT_EQ(rig.limit("a.main"), 4096);
  EXPECT_EQ(rig.card_in_journal("a.main"), share(8192, 500)) << "both, or neither";
  rig.look();
  EXPECT_EQ(rig.card_in_journal("a.main"), share(4096, 900));
  rig.annotate("a", ResizeRig::grant("a", 2, {share(16'384, 100)}));
  rig.look();
  EXPECT_EQ(rig.card_in_journal("a.main"), share(16'384, 100));
  EXPECT_EQ(rig.limit("a.main"), 16'384);
  EXPECT_EQ(rig.answer("a"), (ResizeAnswer{2, 0, {}}));
}

TEST_F(ResizerTest, RefusesAShrinkBelowWhatIsInUseUntilItIsFreed) {
  rig.run("a", ResizeRig::grant("a", 0, {share(8192, 500)}));
  rig.use("a", 6000);
  rig.annotate("a", ResizeRig::grant("a", 1, {share(4096, 250)}));
  rig.look_twice();
  EXPECT_EQ(rig.answer("a"), (ResizeAnswer{0, 1, kInUse}));
  EXPECT_EQ(rig.card_in_journal("a.main"), share(8192, 500));
  EXPECT_TRUE(rig.library().changes.empty()) << "the container is not disturbed";
  ASSERT_EQ(rig.events.size(), 1U) << "once";
  EXPECT_TRUE(says(rig.events[0], "ResizeRefused a container main uses more memory of card GPU-1"));
  EXPECT_EQ(rig.resizer->counts().refused[0], 1U);
  rig.use("a", 4000);
  rig.look_twice();
  EXPECT_EQ(rig.answer("a"), (ResizeAnswer{1, 0, {}}));
  EXPECT_EQ(rig.limit("a.main"), 4096);
}

TEST_F(ResizerTest, WhatIsTakenAfterTheLimitWasSetHasTheOldLimitAgain) {
  rig.run("a", ResizeRig::grant("a", 0, {share(8192, 500)}));
  rig.use("a", 1000);
  rig.annotate("a", ResizeRig::grant("a", 1, {share(4096, 250)}));
  rig.look();
  rig.use("a", 6000);  // an allocation that was under way
  rig.look();
  EXPECT_EQ(rig.answer("a"), (ResizeAnswer{0, 1, kInUse}));
  EXPECT_EQ(rig.limit("a.main"), 8192);
  EXPECT_EQ(rig.card_in_journal("a.main"), share(8192, 500));
}

TEST_F(ResizerTest, WhatTheLibraryHasAccountedIsInUseToo) {
  rig.run("a", ResizeRig::grant("a", 0, {share(8192, 500)}));
  rig.library().counted["a.main GPU-1"] = 5000 * kMiB;
  rig.annotate("a", ResizeRig::grant("a", 1, {share(4096, 500)}));
  rig.look();
  EXPECT_EQ(rig.answer("a"), (ResizeAnswer{0, 1, kInUse}));
}

TEST_F(ResizerTest, WhatTheDriversMeansCountIsInUseToo) {
  rig.run("a", ResizeRig::grant("a", 0, {share(8192, 500)}), "driver");
  rig.use("a", 1000);  // by process
  rig.driver().counted["a.main GPU-1"] = 4097 * kMiB;
  rig.annotate("a", ResizeRig::grant("a", 1, {share(4096, 500)}));
  rig.look_twice();
  EXPECT_EQ(rig.answer("a"), (ResizeAnswer{0, 1, kInUse}));
  EXPECT_TRUE(rig.driver().changes.empty());
  rig.driver().counted["a.main GPU-1"] = 4096 * kMiB;
  rig.look_twice();
  EXPECT_EQ(rig.answer("a"), (ResizeAnswer{1, 0, {}}));
  EXPECT_EQ(rig.limit("a.main"), 4096);
}

TEST_F(ResizerTest, WhileTheMeansCannotCountAShrinkWaits) {
  rig.run("a", ResizeRig::grant("a", 0, {share(8192, 500)}), "driver");
  rig.driver().count_verdict = fail(Errc::kUnavailable, "the driver does not answer");
  rig.annotate("a", ResizeRig::grant("a", 1, {share(4096, 500)}));
  rig.look_twice();
  EXPECT_EQ(rig.answer("a"), (ResizeAnswer{0, 0, {}}));
  EXPECT_EQ(rig.limit("a.main"), 8192);
}

TEST_F(ResizerTest, ADriverThatDoesNotTakeTheLimitKeepsTheOldOneAndTheReasonIsSaid) {
  rig.run("a", ResizeRig::grant("a", 0, {share(8192, 500)}), "driver");
  rig.driver().verdict = fail(Errc::kUnavailable, "another limit stands");
  rig.annotate("a", ResizeRig::grant("a", 1, {share(4096, 500)}));
  rig.look_twice();
  EXPECT_EQ(rig.answer("a"), (ResizeAnswer{0, 0, {}}));
  EXPECT_EQ(rig.limit("a.main"), 8192);
  EXPECT_EQ(rig.events, std::vector<std::string>{
                            "ResizeWaits a container main waits for its resize: another limit "
                            "stands"});
}

TEST_F(ResizerTest, AReasonThatComesAndGoesIsReportedOnceAMinute) {
  rig.run("a", ResizeRig::grant("a", 0, {share(8192, 500)}), "driver");
  rig.annotate("a", ResizeRig::grant("a", 1, {share(4096, 500)}));
  const auto break_by_turns = [&](int looks) {
    for (int i = 0; i < looks; ++i) {
      rig.driver().verdict = fail(Errc::kUnavailable, std::to_string(i) + " bytes stand");
      rig.look();
      rig.driver().verdict = {};
      rig.driver().count_verdict =
          i % 2 == 0 ? fail(Errc::kUnavailable, "the driver does not answer") : Result<void>{};
    }
  };
  break_by_turns(58);
  EXPECT_EQ(rig.events, std::vector<std::string>{
                            "ResizeWaits a container main waits for its resize: 0 bytes stand"});
  break_by_turns(60);
  EXPECT_EQ(rig.events.size(), 2U);
}

TEST_F(ResizerTest, AContainerIsChangedByTheMeansOfItsStart) {
  rig.run("a", ResizeRig::grant("a", 0, {share(8192, 300)}), "driver");
  rig.run("b", ResizeRig::grant("b", 0, {share(8192, 300)}), "library");
  rig.annotate("a", ResizeRig::grant("a", 1, {share(4096, 300)}));
  rig.annotate("b", ResizeRig::grant("b", 1, {share(9000, 300)}));
  rig.look_twice();
  EXPECT_EQ(rig.driver().limits, (std::map<std::string, std::int64_t>{{"a.main GPU-1", 4096}}));
  EXPECT_EQ(rig.library().limits, (std::map<std::string, std::int64_t>{{"b.main GPU-1", 9000}}));
}

TEST_F(ResizerTest, TheDriverIsNotAskedWhileClaimsAreLocked) {
  rig.run("a", ResizeRig::grant("a", 0, {share(8192, 500)}), "driver");
  rig.driver().before_change = [&] { (void)rig.journal->lock_claims(); };
  int revision = 0;
  for (const std::int64_t mib : {4096, 9000}) {
    rig.annotate("a", ResizeRig::grant("a", ++revision, {share(mib, 500)}));
    rig.look_twice();
    EXPECT_EQ(rig.limit("a.main"), mib);
  }
}

TEST_F(ResizerTest, WhileTheDriverIsSilentAShrinkWaits) {
  rig.run("a", ResizeRig::grant("a", 0, {share(8192, 500)}));
  rig.source.silent = {"GPU-1"};
  rig.annotate("a", ResizeRig::grant("a", 1, {share(4096, 500)}));
  rig.look_twice();
  EXPECT_EQ(rig.answer("a"), (ResizeAnswer{0, 0, {}}));
  EXPECT_EQ(rig.limit("a.main"), 8192);
  rig.source.silent.clear();
  rig.look_twice();
  EXPECT_EQ(rig.answer("a"), (ResizeAnswer{1, 0, {}}));
}

TEST_F(ResizerTest, WithoutRoomAGrowthIsRefusedForGood) {
  rig.run("a", ResizeRig::grant("a", 0, {share(8192, 500)}));
  rig.run("b", ResizeRig::grant("b", 0, {share(8192, 400)}));
  rig.annotate("a", ResizeRig::grant("a", 1, {share(4096, 700)}));
  rig.look_twice();
  EXPECT_EQ(rig.answer("a"), (ResizeAnswer{0, 1, kNoRoom}));
  EXPECT_EQ(rig.card_in_journal("a.main"), share(8192, 500));
  EXPECT_EQ(rig.limit("a.main"), 8192);
  rig.pods.erase("uid-b");
  rig.look();
  rig.boot();
  rig.look();
  EXPECT_EQ(rig.answer("a"), (ResizeAnswer{0, 1, kNoRoom})) << "the extender takes it back";
  EXPECT_EQ(rig.events.size(), 1U);
  rig.annotate("a", ResizeRig::grant("a", 2, {share(8192, 500)}));
  rig.look();
  EXPECT_EQ(rig.answer("a"), (ResizeAnswer{2, 0, {}}));
}

TEST_F(ResizerTest, ABoundPodThatHasNotStartedKeepsItsRoom) {
  rig.run("a", ResizeRig::grant("a", 0, {share(8192, 500)}));
  model::Grant later = ResizeRig::grant("b", 0, {share(8192, 400)});
  later.issued_at = "2026-06-01T00:00:00Z";
  rig.annotate("b", later);
  rig.annotate("a", ResizeRig::grant("a", 1, {share(8192, 700)}));
  rig.look();
  EXPECT_EQ(rig.answer("a"), (ResizeAnswer{0, 1, kNoRoom}));
}

TEST_F(ResizerTest, GrowthWaitsForProcessesOfAPodThatIsGone) {
  rig.run("a", ResizeRig::grant("a", 0, {share(8192, 500)}));
  rig.run("b", ResizeRig::grant("b", 0, {share(8192, 400)}));
  rig.use("b", 100);
  rig.pods.erase("uid-b");
  rig.annotate("a", ResizeRig::grant("a", 1, {share(8192, 700)}));
  rig.look();
  EXPECT_EQ(rig.answer("a"), (ResizeAnswer{0, 0, {}}));
  rig.processes.by_pid.clear();
  rig.look();
  EXPECT_EQ(rig.answer("a"), (ResizeAnswer{1, 0, {}}));
}

TEST_F(ResizerTest, WhatWasReleasedByOneIsRoomForAnother) {
  rig.run("a", ResizeRig::grant("a", 0, {share(8192, 600)}));
  rig.run("b", ResizeRig::grant("b", 0, {share(8192, 400)}));
  rig.annotate("a", ResizeRig::grant("a", 1, {share(8192, 300)}));
  rig.look();
  rig.annotate("b", ResizeRig::grant("b", 1, {share(8192, 700)}));
  rig.look();
  EXPECT_EQ(rig.answer("b"), (ResizeAnswer{1, 0, {}}));
}

TEST_F(ResizerTest, ARevisionThatIsWithdrawnHalfwayLeavesNothing) {
  rig.run("a", ResizeRig::grant("a", 0, {share(8192, 500)}));
  rig.annotate("a", ResizeRig::grant("a", 1, {share(4096, 500)}));
  rig.look();
  ASSERT_EQ(rig.limit("a.main"), 4096);
  rig.annotate("a", ResizeRig::grant("a", 2, {share(8192, 500)}));
  rig.look();
  EXPECT_EQ(rig.answer("a"), (ResizeAnswer{2, 0, {}}));
  EXPECT_EQ(rig.limit("a.main"), 8192);
}

TEST_F(ResizerTest, WhereNothingEnforcesOnlyTheRecordsChange) {
  rig.run("a", ResizeRig::grant("a", 0, {share(8192, 500)}, model::Isolation::kNone), "none");
  rig.annotate("a", ResizeRig::grant("a", 1, {share(4096, 250)}, model::Isolation::kNone));
  rig.look();
  EXPECT_EQ(rig.answer("a"), (ResizeAnswer{1, 0, {}}));
  EXPECT_EQ(rig.card_in_journal("a.main"), share(4096, 250));
}

TEST_F(ResizerTest, WhatIsSetWhenAContainerStartsCannotBeChanged) {
  rig.run("mps", ResizeRig::grant("mps", 0, {share(1024, 100)}, model::Isolation::kMps), "mps");
  const std::string boot = std::exchange(rig.boot_id, "");  // which earlier agents did not note
  rig.run("driver", ResizeRig::grant("driver", 0, {share(1024, 100)}), "driver");
  rig.boot_id = boot;
  rig.run("compute", ResizeRig::grant("compute", 0, {share(1024, 100)}, model::Isolation::kMps));
  rig.annotate("mps", ResizeRig::grant("mps", 1, {share(2048, 100)}, model::Isolation::kMps));
  rig.annotate("driver", ResizeRig::grant("driver", 1, {share(512, 100)}));
  rig.annotate("compute",
               ResizeRig::grant("compute", 1, {share(1024, 50)}, model::Isolation::kMps));
  rig.look_twice();
  for (const char* name : {"mps", "driver", "compute"}) {
    EXPECT_EQ(rig.answer(name), (ResizeAnswer{0, 1, kCannotChange})) << name;
    EXPECT_EQ(rig.card_in_journal(std::string(name) + ".main"), share(1024, 100)) << name;
  }
  EXPECT_EQ(rig.events.size(), 3U);
  // A container of MPS whose memory the library limits.
  rig.annotate("compute",
               ResizeRig::grant("compute", 2, {share(512, 100)}, model::Isolation::kMps));
  rig.look_twice();
  EXPECT_EQ(rig.answer("compute"), (ResizeAnswer{2, 0, {}}));
  rig.annotate("compute",
               ResizeRig::grant("compute", 3, {share(768, 100)}, model::Isolation::kMps));
  rig.look_twice();
  EXPECT_EQ(rig.answer("compute"), (ResizeAnswer{2, 3, kCannotChange}))
      << "MPS has a limit beside the library's";
}

TEST_F(ResizerTest, AWholeCardIsNeverResized) {
  model::GrantedCard whole = part("GPU-1", kCard, 1000);
  whole.whole = true;
  rig.run("a", ResizeRig::grant("a", 0, {whole}));
  rig.annotate("a", ResizeRig::grant("a", 1, {share(4096, 500)}));
  rig.look_twice();
  EXPECT_EQ(rig.answer("a"), (ResizeAnswer{0, 1, kOtherGrant}));
  EXPECT_EQ(rig.card_in_journal("a.main"), whole);
}

TEST_F(ResizerTest, APodThatHasNotStartedHasItsRevisionAtOnce) {
  rig.annotate("a", ResizeRig::grant("a", 3, {share(4096, 250)}));
  rig.look();
  EXPECT_EQ(rig.answer("a"), (ResizeAnswer{3, 0, {}}));
  rig.pods.erase("uid-a");
  rig.look();
  EXPECT_EQ(rig.answer("a").applied, -1) << "the pod was deleted";
  EXPECT_EQ(rig.changes, 2);
}

TEST_F(ResizerTest, OfTwoContainersTheOneThatHasNotStartedDoesNotCount) {
  model::Grant grant = ResizeRig::grant("a", 0, {share(8192, 300)});
  grant.containers.push_back({"side", {share(8192, 300)}});
  rig.run("a", grant);
  grant.revision = 1;
  grant.containers[0].cards = {share(4096, 300)};
  grant.containers[1].cards = {share(4096, 300)};
  rig.annotate("a", grant);
  rig.look_twice();
  EXPECT_EQ(rig.answer("a"), (ResizeAnswer{1, 0, {}}));
}

TEST_F(ResizerTest, APodHasWhatItsSlowestContainerHas) {
  model::Grant grant = ResizeRig::grant("a", 0, {share(8192, 300)});
  grant.containers.push_back({"side", {share(8192, 300)}});
  rig.run("a", grant);
  rig.start("a", grant, "library", "side");
  rig.use("a", 6000);  // of main
  grant.revision = 1;
  for (auto& container : grant.containers) container.cards = {share(4096, 300)};
  rig.annotate("a", grant);
  rig.look_twice();
  EXPECT_EQ(rig.limit_in_journal("a.main"), 8192);
  EXPECT_EQ(rig.limit_in_journal("a.side"), 4096);
  EXPECT_EQ(rig.answer("a"), (ResizeAnswer{0, 1, kInUse}));
}

TEST_F(ResizerTest, AnswersWhatStartedContainersAreHeldTo) {
  model::Grant grant = ResizeRig::grant("a", 0, {share(8192, 300)});
  grant.containers.push_back({"side", {share(8192, 300)}});
  grant.containers.push_back({"later", {share(8192, 300)}});
  rig.run("a", grant);
  rig.start("a", grant, "library", "side");
  rig.use("a", 6000);  // of main
  model::Grant shrunk = grant;
  shrunk.revision = 1;
  for (auto& container : shrunk.containers) container.cards = {share(4096, 100)};
  rig.annotate("a", shrunk);
  rig.look_twice();
  const model::HeldAmounts held{{"main", {{"GPU-1", share(8192, 300).amounts()}}},
                                {"side", {{"GPU-1", share(4096, 100).amounts()}}}};
  EXPECT_EQ(rig.whole_answer("a").held, held);
  rig.boot();
  rig.annotate("a", grant);  // put back
  rig.look();
  EXPECT_EQ(rig.whole_answer("a").held, held) << "as long as one of them has applied a revision";
}

TEST_F(ResizerTest, AContainerOfUnknownLimitsWaitsUntilItStartsAgainAndSaysSo) {
  rig.run("a", ResizeRig::grant("a", 0, {share(8192, 500)}));
  rig.library().limits.clear();
  rig.annotate("a", ResizeRig::grant("a", 1, {share(4096, 500)}));
  rig.look_twice();
  EXPECT_EQ(rig.answer("a"), (ResizeAnswer{0, 0, {}}));
  ASSERT_EQ(rig.events.size(), 1U) << "once";
  EXPECT_TRUE(says(rig.events[0], "ResizeWaits a container main waits for its resize: "))
      << rig.events[0];
  rig.start("a", ResizeRig::grant("a", 0, {share(8192, 500)}));
  rig.look_twice();
  EXPECT_EQ(rig.answer("a"), (ResizeAnswer{1, 0, {}}));
}

TEST_F(ResizerTest, CountsWhatPodsHaveReleasedOfTheirRequests) {
  rig.requests = {.milli = MilliGpu(500), .memory = Mebibytes(8192)};
  rig.run("a", ResizeRig::grant("a", 0, {share(8192, 500)}));
  rig.run("b", ResizeRig::grant("b", 0, {share(8192, 400)}));
  rig.annotate("a", ResizeRig::grant("a", 1, {share(4096, 550)}));
  rig.look();
  EXPECT_EQ(rig.resizer->state()->released, CardRequests{}) << "it is not applied yet";
  rig.look();
  EXPECT_EQ(rig.resizer->state()->released,
            (CardRequests{.milli = MilliGpu(0), .memory = Mebibytes(4096)}));
}

TEST_F(ResizerTest, AnswersOnlyForSoManyPodsAndFirstForThoseThatRun) {
  rig.run("z", ResizeRig::grant("z", 0, {share(8192, 500)}));
  rig.annotate("z", ResizeRig::grant("z", 1, {share(8192, 600)}));
  for (std::size_t i = 0; i < model::kMaxResizeAnswers; ++i) {
    LocalPod pod;
    pod.pod.uid = "a" + std::to_string(i);
    pod.grant = ResizeRig::grant(pod.pod.uid, 1, {share(0, 0)});
    rig.pods.put(pod);
  }
  rig.look();
  EXPECT_EQ(rig.resizer->state()->answers.size(), model::kMaxResizeAnswers);
  EXPECT_NE(rig.answer("z").applied, -1);
}

}  // namespace
}  // namespace tangram::node
