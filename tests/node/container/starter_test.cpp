#include "node/container/starter.hpp"

#include "tests/node/container/start_rig.hpp"

#include <gtest/gtest.h>

#include <filesystem>

namespace tangram::node {
namespace {

class StarterTest : public ::testing::Test {
 protected:
  using Owner = StartRig::Owner;
  static bool says(const std::string& text, const std::string& words) {
    return text.find(words) != std::string::npos;
  }
  StartRig rig;
};

TEST_F(StarterTest, AContainerGetsItsShareOfItsCard) {
  const Owner a = rig.bound("a", {part("GPU-2", 40'960, 500)});
  ASSERT_EQ(rig.kubelet.admit(a), "");
  EXPECT_EQ(rig.cards_of(a), "-") << "before PreStartContainer the name means nothing";
  ASSERT_EQ(rig.kubelet.start_container(a), "");
  EXPECT_EQ(rig.env(a, "ACME_DEVICES"), "GPU-2");
  EXPECT_EQ(rig.cards_of(a), "GPU-2");
  EXPECT_EQ(rig.env(a, "TANGRAM_MEMORY_LIMIT_BYTES"), "42949672960");
  EXPECT_EQ(rig.env(a, "TANGRAM_COMPUTE_LIMIT_MILLI"), "500");
  EXPECT_EQ(rig.env(a, "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT"), "0=40960M");
  const std::string device = rig.kubelet.device_of(a);
  const CardSharers alone{.ceiling = {Mebibytes(40'960), MilliGpu(500)},
                          .allocations = {{device.substr(device.find('=') + 1), MilliGpu(500)}},
                          .starting = device.substr(device.find('=') + 1)};
  EXPECT_EQ(rig.enforcer.prepared, (CardsInMode{{"GPU-2", alone}}));
  EXPECT_TRUE(rig.enforcer.released.empty());
  EXPECT_EQ(rig.other_enforcer.released, std::set<std::string>{"GPU-2"});
  EXPECT_EQ(rig.settled, 1) << "the runtime is given time to see the file";
  EXPECT_EQ(rig.allowed, 1);
}

TEST_F(StarterTest, AContainersEnvironmentNamesItsAllocation) {
  const Owner a = rig.bound("a", {part("GPU-2", 40'960, 500)});
  ASSERT_EQ(rig.kubelet.admit(a), "");
  ASSERT_EQ(rig.kubelet.start_container(a), "");
  const std::string name = rig.env(a, "TANGRAM_ALLOCATION");
  EXPECT_EQ("tangram.dev/slot=" + name, rig.kubelet.device_of(a));
}

TEST_F(StarterTest, WholeCardsNeedNoEnforcer) {
  const Owner a = rig.bound("a", {part("GPU-1", 81'920, 1000), part("GPU-2", 81'920, 1000)});
  ASSERT_EQ(rig.kubelet.admit(a, 3), "");
  ASSERT_EQ(rig.kubelet.start_container(a), "");
  EXPECT_EQ(rig.cards_of(a), "GPU-1,GPU-2");
  EXPECT_EQ(rig.env(a, "TANGRAM_COMPUTE_LIMIT_MILLI"), "1000,1000");
  EXPECT_TRUE(rig.enforcer.prepared.empty());
  EXPECT_EQ(rig.enforcer.released, (std::set<std::string>{"GPU-1", "GPU-2"}))
      << "former sharers' daemons are in its way";
}

TEST_F(StarterTest, WithTheVendorsSpecTheDeviceHasTheCard) {
  rig.vendor_edits = CdiEdits{"0.5.0", {{"env", {R"("FROM_VENDOR=yes")"}}}};
  const Owner a = rig.bound("a", {part("GPU-1", 10, 100)});
  ASSERT_EQ(rig.kubelet.admit(a), "");
  ASSERT_EQ(rig.kubelet.start_container(a), "");
  EXPECT_EQ(rig.env(a, "FROM_VENDOR"), "yes");
  EXPECT_EQ(rig.env(a, "ACME_DEVICES"), "none");
  EXPECT_EQ(rig.cards_of(a), "GPU-1");
}

TEST_F(StarterTest, EveryStartHasAMarkOfItsOwn) {
  const Owner a = rig.bound("a", {part("GPU-1", 10, 100)});
  ASSERT_EQ(rig.kubelet.admit(a), "");
  std::set<std::string> marks;
  std::string allocation;
  for (int start = 0; start < 3; ++start) {
    ASSERT_EQ(rig.kubelet.start_container(a), "");
    const std::string mark = rig.env(a, "TANGRAM_START");
    EXPECT_EQ(mark.size(), 16U);
    marks.insert(mark);
    allocation = rig.env(a, "TANGRAM_ALLOCATION");
    EXPECT_EQ(rig.journal->find(allocation)->claim->mark, "TANGRAM_START=" + mark);
  }
  EXPECT_EQ(marks.size(), 3U);
  EXPECT_EQ(rig.settled, 3) << "the runtime is given time to see each";
  EXPECT_EQ(rig.starter->counts().prepared, 3U);
  const std::string mark = rig.env(a, "TANGRAM_START");
  rig.kill_agent();
  rig.boot_agent();
  EXPECT_EQ(rig.journal->find(allocation)->claim->mark, "TANGRAM_START=" + mark);
}

TEST_F(StarterTest, AContainerStartsAgainWithAMarkOfItsOwnThoughItCannotBeRecorded) {
  const Owner a = rig.bound("a", {part("GPU-1", 10, 100)});
  ASSERT_EQ(rig.kubelet.admit(a), "");
  ASSERT_EQ(rig.kubelet.start_container(a), "");
  const std::string former = rig.env(a, "TANGRAM_START");
  const std::int64_t former_start = rig.journal->all().at(0).claim->marked_at;
  std::filesystem::remove_all(rig.folder.path() + "/allocations");
  rig.clock.advance(std::chrono::seconds(1));
  ASSERT_EQ(rig.kubelet.start_container(a), "");
  const std::string mark = rig.env(a, "TANGRAM_START");
  EXPECT_NE(mark, former) << "a pod could know it";
  const auto entry = rig.journal->find(rig.env(a, "TANGRAM_ALLOCATION"));
  EXPECT_EQ(entry->claim->mark, "TANGRAM_START=" + mark);
  EXPECT_EQ(entry->claim->former_mark, "TANGRAM_START=" + former);
  EXPECT_GT(entry->claim->marked_at, former_start);
}

TEST_F(StarterTest, WhereAVariableCarriesTheDeviceItIsTheMark) {
  rig.kill_agent();
  rig.name_path = NamePath::kEnvironment;
  rig.vendor_edits = CdiEdits{"0.5.0", {{"env", {R"("FROM_VENDOR=yes")"}}}};
  rig.boot_agent();
  const Owner a = rig.bound("a", {part("GPU-1", 10, 100)});
  ASSERT_EQ(rig.kubelet.admit(a), "");
  ASSERT_EQ(rig.kubelet.start_container(a), "");
  const auto entries = rig.journal->all();
  ASSERT_EQ(entries.size(), 1U);
  ASSERT_TRUE(entries[0].claim);
  EXPECT_EQ(entries[0].claim->mark, "ACME_DEVICES=tangram.dev/slot=" + entries[0].name);
}

TEST_F(StarterTest, APodThatKubeletDroppedMeanwhileDoesNotStart) {
  const Owner a = rig.bound("a", {part("GPU-1", 10, 100)});
  ASSERT_EQ(rig.kubelet.admit(a), "");
  rig.during_delay = [&] { rig.kubelet.end(a.uid); };
  EXPECT_EQ(rig.kubelet.start_container(a),
            "tangram: not yet: the pod was deleted while its container was about to start");
  EXPECT_EQ(rig.allowed, 0);
  EXPECT_EQ(rig.starter->counts().prepared, 0U);
  EXPECT_EQ(rig.starter->counts().postponed, 1U);
}

TEST_F(StarterTest, APodThatTheWatchLostMeanwhileDoesNotStart) {
  const Owner a = rig.bound("a", {part("GPU-1", 10, 100)});
  ASSERT_EQ(rig.kubelet.admit(a), "");
  rig.during_delay = [&] { rig.pods.erase(a.uid); };
  EXPECT_TRUE(says(rig.kubelet.start_container(a), "tangram: not yet: the pod was deleted"));
}

TEST_F(StarterTest, APodMadeAnewMeanwhileWithTheSlotIsAnotherPod) {
  const Owner a = rig.bound("a", {part("GPU-1", 10, 100)});
  ASSERT_EQ(rig.kubelet.admit(a, 1, {"slot-5"}), "");
  rig.during_delay = [&] {
    rig.kubelet.end(a.uid);
    EXPECT_EQ(rig.kubelet.admit({.uid = "uid-new", .pod = "a"}, 1, {"slot-5"}), "");
  };
  EXPECT_TRUE(says(rig.kubelet.start_container(a), "tangram: not yet: the pod was deleted"));
  EXPECT_EQ(rig.allowed, 0);
}

TEST_F(StarterTest, TheAgentMayDieBetweenAllocateAndStart) {
  const Owner a = rig.bound("a", {part("GPU-1", 10, 100)});
  ASSERT_EQ(rig.kubelet.admit(a), "");
  rig.kill_agent();
  rig.boot_agent();
  ASSERT_EQ(rig.kubelet.start_container(a), "");
  EXPECT_EQ(rig.cards_of(a), "GPU-1");
}

TEST_F(StarterTest, ALostJournalLosesNoPod) {
  const Owner a = rig.bound("a", {part("GPU-1", 10, 100)});
  ASSERT_EQ(rig.kubelet.admit(a), "");
  ASSERT_EQ(rig.kubelet.start_container(a), "");
  rig.kill_agent();
  std::filesystem::remove_all(rig.folder.path() + "/allocations");
  std::filesystem::remove_all(rig.folder.path() + "/cdi");
  rig.boot_agent();
  ASSERT_EQ(rig.kubelet.start_container(a), "");
  EXPECT_EQ(rig.cards_of(a), "GPU-1");
}

TEST_F(StarterTest, AReusedSlotNeverShowsTheFormerPodsCard) {
  const Owner a = rig.bound("a", {part("GPU-1", 10, 100)});
  ASSERT_EQ(rig.kubelet.admit(a, 1, {"slot-5"}), "");
  ASSERT_EQ(rig.kubelet.start_container(a), "");
  const std::string device = rig.kubelet.device_of(a);
  rig.kubelet.end(a.uid);
  rig.pods.erase(a.uid);
  const Owner b = rig.bound("b", {part("GPU-2", 10, 100)});
  ASSERT_EQ(rig.kubelet.admit(b, 1, {"slot-5"}), "");
  EXPECT_NE(rig.kubelet.device_of(b), device);
  EXPECT_EQ(rig.cards_of(b), "-");
  ASSERT_EQ(rig.kubelet.start_container(b), "");
  EXPECT_EQ(rig.cards_of(b), "GPU-2");
}

TEST_F(StarterTest, APodMadeAnewUnderTheNameIsAnotherPod) {
  const Owner a = rig.bound("a", {part("GPU-1", 10, 100)});
  ASSERT_EQ(rig.kubelet.admit(a), "");
  rig.pods.erase(a.uid);
  LocalPod renewed;
  renewed.pod.uid = "uid-2";
  renewed.pod.ns = "ml";
  renewed.pod.name = "a";
  renewed.pod.node = "n1";
  rig.pods.put(renewed);
  EXPECT_TRUE(says(rig.kubelet.start_container(a), "tangram: not yet: kubelet names no live pod"));
  EXPECT_EQ(rig.cards_of(a), "-");
}

TEST_F(StarterTest, WithoutAGrantItSaysSoAndWritesNothing) {
  rig.put_pod("a", "");
  const Owner a{.uid = "uid-a", .pod = "a"};
  ASSERT_EQ(rig.kubelet.admit(a), "");
  EXPECT_TRUE(says(rig.kubelet.start_container(a),
                   "tangram: cannot start: the pod has a slot but no "
                   "grant"));
  EXPECT_EQ(rig.cards_of(a), "-");
  ASSERT_EQ(rig.events.size(), 1U);
  EXPECT_TRUE(says(rig.events[0], "CannotStart a: the pod has a slot but no grant"));
  EXPECT_EQ(rig.starter->counts().refused, 1U);
}

TEST_F(StarterTest, AGrantCopiedFromAnotherPodIsRefused) {
  rig.bound("a", {part("GPU-1", 10, 100)});
  rig.put_pod("thief", rig.pods.find("uid-a")->grant_text);
  const Owner thief{.uid = "uid-thief", .pod = "thief"};
  ASSERT_EQ(rig.kubelet.admit(thief), "");
  EXPECT_TRUE(says(rig.kubelet.start_container(thief), "was issued to another pod"));
  EXPECT_EQ(rig.cards_of(thief), "-");
}

TEST_F(StarterTest, OfTwoThatExcludeEachOtherOneStarts) {
  const Owner early = rig.bound("early", {part("GPU-1", 81'920, 1000)}, "2026-01-01T00:00:00Z");
  const Owner late = rig.bound("late", {part("GPU-1", 10, 100)}, "2026-01-01T00:00:01Z");
  ASSERT_EQ(rig.kubelet.admit(early), "");
  ASSERT_EQ(rig.kubelet.admit(late), "");
  EXPECT_TRUE(
      says(rig.kubelet.start_container(late), "has no room for this pod beside earlier grants"));
  EXPECT_EQ(rig.kubelet.start_container(early), "");
}

TEST_F(StarterTest, AnAdmittedContainerStaysThoughItsStartTakesLong) {
  const Owner late = rig.bound("late", {part("GPU-1", 81'920, 900)}, "2026-01-01T00:00:01Z");
  ASSERT_EQ(rig.kubelet.admit(late), "");
  rig.enforcer.verdict = fail(Errc::kUnavailable, "the MPS daemon starts");
  EXPECT_TRUE(says(rig.kubelet.start_container(late), "not yet: the MPS daemon starts"));
  // The grant of a leader that was deposed arrives late, and was issued before.
  const Owner early = rig.bound("early", {part("GPU-1", 10, 100)}, "2026-01-01T00:00:00Z");
  ASSERT_EQ(rig.kubelet.admit(early), "");
  EXPECT_TRUE(
      says(rig.kubelet.start_container(early), "has no room for this pod beside earlier grants"));
  rig.enforcer.verdict = {};
  EXPECT_EQ(rig.kubelet.start_container(late), "");
}

TEST_F(StarterTest, AnAnnotationThatIsChangedAfterTheStartHasNoEffect) {
  const Owner a = rig.bound("a", {part("GPU-1", 81'920, 900)});
  ASSERT_EQ(rig.kubelet.admit(a), "");
  ASSERT_EQ(rig.kubelet.start_container(a), "");
  const Owner b = rig.bound("b", {part("GPU-1", 10, 100)}, "2026-01-02T00:00:00Z");
  ASSERT_EQ(rig.kubelet.admit(b), "");
  for (const std::string& changed : {std::string(), rig.pods.find(b.uid)->grant_text}) {
    rig.put_pod("a", changed);
    EXPECT_TRUE(
        says(rig.kubelet.start_container(b), "has no room for this pod beside earlier grants"));
    EXPECT_EQ(rig.kubelet.start_container(a), "");
    EXPECT_EQ(rig.env(a, "TANGRAM_MEMORY_LIMIT_BYTES"),
              std::to_string(std::int64_t{81'920} << 20U));
  }
}

TEST_F(StarterTest, AnotherDriverThatReservesMoreStopsNobodyWhoRan) {
  const Owner a = rig.bound("a", {part("GPU-1", 40'960, 500)});
  const Owner b = rig.bound("b", {part("GPU-1", 40'960, 500)});
  const Owner whole = rig.bound("whole", {part("GPU-2", 81'920, 1000)});
  for (const Owner& owner : {a, b, whole}) {
    ASSERT_EQ(rig.kubelet.admit(owner), "");
    ASSERT_EQ(rig.kubelet.start_container(owner), "");
  }
  for (const std::int64_t memory : {81'919, 81'921}) {
    Inventory inventory = rig.cards->inventory;
    for (InstalledCard& card : inventory.cards) card.card.memory = Mebibytes(memory);
    rig.set_cards(inventory);
    for (const Owner& owner : {a, b, whole}) EXPECT_EQ(rig.kubelet.start_container(owner), "");
  }
  EXPECT_EQ(rig.enforcer.prepared.count("GPU-1"), 1U);
  EXPECT_EQ(rig.enforcer.prepared.size(), 1U) << "whole stays whole";
}

TEST_F(StarterTest, BeforeTheDriverHasAnsweredNothingIsFinal) {
  const Owner a = rig.bound("a", {part("GPU-1", 10, 100)});
  ASSERT_EQ(rig.kubelet.admit(a), "");
  rig.cards = std::make_shared<const CardsNow>();
  EXPECT_TRUE(says(rig.kubelet.start_container(a), "tangram: not yet: the driver does not answer"));
}

TEST_F(StarterTest, AJournalThatCannotBeWrittenFailsNoPod) {
  const Owner a = rig.bound("a", {part("GPU-1", 10, 100)});
  const std::string journal = rig.folder.path() + "/allocations";
  std::filesystem::remove_all(journal);
  ASSERT_EQ(rig.kubelet.admit(a), "");
  EXPECT_TRUE(says(rig.kubelet.start_container(a), "tangram: not yet"));
  std::filesystem::create_directory(journal);
  EXPECT_EQ(rig.kubelet.start_container(a), "");
  EXPECT_EQ(rig.cards_of(a), "GPU-1");
}

TEST_F(StarterTest, WithoutTheApiServerWhatWasStartedStartsAgain) {
  const Owner a = rig.bound("a", {part("GPU-1", 10, 100)});
  const Owner b = rig.bound("b", {part("GPU-2", 10, 100)});
  ASSERT_EQ(rig.kubelet.admit(a), "");
  ASSERT_EQ(rig.kubelet.start_container(a), "");
  ASSERT_EQ(rig.kubelet.admit(b), "");
  rig.kill_agent();
  rig.pods.reachable(false, false);
  std::filesystem::remove_all(rig.folder.path() + "/cdi");
  rig.boot_agent();
  EXPECT_EQ(rig.kubelet.start_container(a), "");
  EXPECT_EQ(rig.cards_of(a), "GPU-1");
  EXPECT_TRUE(says(rig.kubelet.start_container(b), "tangram: not yet: the API server"));
}

TEST_F(StarterTest, BeforeTheWatchDeliversThePodIsAskedFor) {
  const Owner a = rig.bound("a", {part("GPU-1", 10, 100)});
  rig.pods.reachable(false, true);
  ASSERT_EQ(rig.kubelet.admit(a), "");
  EXPECT_EQ(rig.kubelet.start_container(a), "");
  EXPECT_EQ(rig.cards_of(a), "GPU-1");
}

/// None of its processes may be there yet, either.
TEST_F(StarterTest, APodThatTheWatchHasNotShownYetHasItsCard) {
  const Owner a = rig.bound("a", {part("GPU-1", 81'920, 1000)});
  rig.pods.lag(a.uid);
  ASSERT_EQ(rig.kubelet.admit(a), "");
  ASSERT_EQ(rig.kubelet.start_container(a), "");
  ASSERT_EQ(rig.starter->claims().size(), 1U) << "what is set up for it stays";
  EXPECT_FALSE(rig.starter->claims().front().ending);
  note_shown(rig.pods, *rig.journal);
  const Owner b = rig.bound("b", {part("GPU-1", 10, 100)}, "2020-01-01T00:00:00Z");
  ASSERT_EQ(rig.kubelet.admit(b), "");
  EXPECT_TRUE(says(rig.kubelet.start_container(b), "tangram: not yet: card GPU-1 has no room"));
  rig.pods.catch_up();
  note_shown(rig.pods, *rig.journal);
  rig.pods.erase(a.uid);
  EXPECT_EQ(rig.kubelet.start_container(b), "") << "a was shown, and is gone";
}

TEST_F(StarterTest, APodThatTheWatchShowsDuringItsStartIsNotAwaited) {
  const Owner a = rig.bound("a", {part("GPU-1", 10, 100)});
  ASSERT_EQ(rig.kubelet.admit(a), "");
  ASSERT_EQ(rig.kubelet.start_container(a), "");
  EXPECT_TRUE(rig.journal->awaited_pods().empty());
}

TEST_F(StarterTest, APodThatIsLeftOutIsAskedFor) {
  const Owner a = rig.bound("a", {part("GPU-1", 10, 100)});
  rig.pods.leave_out(a.uid);
  ASSERT_EQ(rig.kubelet.admit(a), "");
  EXPECT_EQ(rig.kubelet.start_container(a), "");
  EXPECT_EQ(rig.cards_of(a), "GPU-1");
  rig.pods.reachable(true, false);
  EXPECT_EQ(rig.kubelet.start_container(a), "") << "by the journal";
  const Owner b = rig.bound("b", {part("GPU-2", 10, 100)});
  rig.pods.leave_out(b.uid);
  ASSERT_EQ(rig.kubelet.admit(b), "");
  EXPECT_TRUE(says(rig.kubelet.start_container(b), "tangram: not yet: the API server"));
}

TEST_F(StarterTest, APodThatIsLeftOutKeepsItsCard) {
  const Owner a = rig.bound("a", {part("GPU-1", 81'920, 1000)});
  ASSERT_EQ(rig.kubelet.admit(a), "");
  ASSERT_EQ(rig.kubelet.start_container(a), "");
  rig.pods.leave_out(a.uid);  // none of its processes runs: it is about to start again
  const Owner b = rig.bound("b", {part("GPU-1", 10, 100)}, "2020-01-01T00:00:00Z");
  ASSERT_EQ(rig.kubelet.admit(b), "");
  EXPECT_TRUE(says(rig.kubelet.start_container(b), "has no room for this pod"));
  EXPECT_EQ(rig.kubelet.start_container(a), "");
}

TEST_F(StarterTest, KubeletsTwoRecordsMustAgree) {
  rig.bound("a", {part("GPU-1", 10, 100)});
  rig.bound("b", {part("GPU-2", 10, 100)});
  // The checkpoint names the UID of one pod, the list the name of the other.
  const Owner mixed{.uid = "uid-a", .pod = "b"};
  ASSERT_EQ(rig.kubelet.admit(mixed), "");
  EXPECT_TRUE(says(rig.kubelet.start_container(mixed),
                   "tangram: not yet: kubelet's checkpoint and "
                   "its list of pods differ"));
  EXPECT_EQ(rig.cards_of(mixed), "-");
}

TEST_F(StarterTest, AnInitContainerWithASlotGetsAnInstruction) {
  const model::Grant grant{.pod_uid = "uid-a",
                           .node = "n1",
                           .issued_at = "2026-01-01T00:00:00Z",
                           .isolation = model::Isolation::kMps,
                           .containers = {{"main", {part("GPU-1", 10, 100)}}},
                           .signature = {}};
  rig.put_pod("a", encode(grant),
              {{.name = "main", .slots = 1}, {.name = "setup", .slots = 1, .ordinary_init = true}});
  const Owner setup{.uid = "uid-a", .pod = "a", .container = "setup", .init = true};
  ASSERT_EQ(rig.kubelet.admit(setup, 1, {"slot-1"}), "");
  EXPECT_TRUE(says(rig.kubelet.start_container(setup), "init container, which cannot have a card"));
}

TEST_F(StarterTest, AnInitContainerIsNotInTheListAndStarts) {
  const model::Grant grant{.pod_uid = "uid-a",
                           .node = "n1",
                           .issued_at = "2026-01-01T00:00:00Z",
                           .isolation = model::Isolation::kMps,
                           .containers = {{"setup", {part("GPU-1", 10, 100)}}},
                           .signature = {}};
  rig.put_pod("a", encode(grant), {{.name = "setup", .slots = 1, .ordinary_init = true}});
  const Owner setup{.uid = "uid-a", .pod = "a", .container = "setup", .init = true};
  ASSERT_EQ(rig.kubelet.admit(setup), "");
  EXPECT_EQ(rig.kubelet.start_container(setup), "");
  EXPECT_EQ(rig.cards_of(setup), "GPU-1");
}

TEST_F(StarterTest, TheListIsAskedAgainWhenTheRateLimitRefuses) {
  const Owner a = rig.bound("a", {part("GPU-1", 10, 100)});
  ASSERT_EQ(rig.kubelet.admit(a), "");
  rig.kubelet.refuse_lists(2);
  EXPECT_EQ(rig.kubelet.start_container(a), "");
}

TEST_F(StarterTest, ADriverThatDoesNotAnswerPostpones) {
  const Owner a = rig.bound("a", {part("GPU-1", 10, 100)});
  ASSERT_EQ(rig.kubelet.admit(a), "");
  rig.source.answers = false;
  EXPECT_TRUE(says(rig.kubelet.start_container(a), "tangram: not yet: the driver"));
  rig.source.answers = true;
  EXPECT_EQ(rig.kubelet.start_container(a), "");
}

TEST_F(StarterTest, AnEnforcerThatFailsPostpones) {
  const Owner a = rig.bound("a", {part("GPU-1", 10, 100)});
  ASSERT_EQ(rig.kubelet.admit(a), "");
  rig.enforcer.verdict = fail(Errc::kUnavailable, "the MPS daemon does not answer");
  EXPECT_TRUE(says(rig.kubelet.start_container(a), "not yet: the MPS daemon does not answer"));
  EXPECT_EQ(rig.cards_of(a), "-");
  rig.enforcer.verdict = {};
  EXPECT_EQ(rig.kubelet.start_container(a), "");
}

TEST_F(StarterTest, WaitsUntilThePodThatWasDeletedByForceHasLetGo) {
  const Owner a = rig.bound("a", {part("GPU-1", 81'920, 1000)});
  ASSERT_EQ(rig.kubelet.admit(a), "");
  ASSERT_EQ(rig.kubelet.start_container(a), "");
  rig.processes.by_pid = {{100, "uid-a"}};
  rig.kubelet.end(a.uid);
  rig.pods.erase(a.uid);
  const Owner b = rig.bound("b", {part("GPU-1", 10, 100)}, "2026-01-02T00:00:00Z");
  ASSERT_EQ(rig.kubelet.admit(b), "");
  EXPECT_TRUE(says(rig.kubelet.start_container(b),
                   "not yet: card GPU-1 is still used by a pod that is gone"));
  rig.processes.by_pid.clear();
  EXPECT_EQ(rig.kubelet.start_container(b), "");
}

TEST_F(StarterTest, ProcessesOfUnknownPodsCountByWhatTheyUse) {
  const Owner b = rig.bound("b", {part("GPU-1", 41'000, 100)});
  ASSERT_EQ(rig.kubelet.admit(b), "");
  rig.processes.by_pid = {{100, "uid-gone"}, {101, "uid-gone"}};
  rig.source.processes["GPU-1"] = {{100, std::uint64_t{20'480} << 20U},
                                   {101, std::uint64_t{20'480} << 20U},
                                   {102, std::uint64_t{81'920} << 20U}};
  EXPECT_TRUE(says(rig.kubelet.start_container(b), "uid-gone"));
  rig.source.processes["GPU-1"].pop_back();
  rig.source.processes["GPU-1"].pop_back();
  EXPECT_EQ(rig.kubelet.start_container(b), "");
}

/// It would run without one wherever the vendor's runtime is not the default.
TEST_F(StarterTest, NothingStartsWithoutItsCard) {
  rig.kill_agent();
  rig.cards_by_runtime = false;
  rig.vendor_edits = fail(Errc::kNotFound, "no driver");
  rig.boot_agent();
  const Owner a = rig.bound("a", {part("GPU-1", 10, 100)});
  ASSERT_EQ(rig.kubelet.admit(a), "");
  const std::string answer = rig.kubelet.start_container(a);
  EXPECT_TRUE(says(answer, "no driver; set it up"));
  EXPECT_TRUE(rig.cdi.names().empty());
  rig.vendor_edits = CdiEdits{"0.5.0", {{"deviceNodes", {R"({"path":"/dev/acme0"})"}}}};
  EXPECT_EQ(rig.kubelet.start_container(a), "");
  EXPECT_EQ(rig.env(a, "ACME_DEVICES"), "none") << "the device gives it the card";
}

TEST_F(StarterTest, WhereTheRuntimeIgnoresDevicesNothingStartsUntilItHeedsThem) {
  rig.runtime_config.cdi = false;
  const Owner a = rig.bound("a", {part("GPU-1", 10, 100)});
  ASSERT_EQ(rig.kubelet.admit(a), "");
  EXPECT_TRUE(says(rig.kubelet.start_container(a), "set enable_cdi = true"));
  EXPECT_TRUE(rig.cdi.names().empty());
  ASSERT_EQ(rig.events.size(), 1U);
  EXPECT_TRUE(says(rig.events.front(), "StartPostponed a: CDI is off"));
  rig.runtime_config.cdi = true;
  EXPECT_EQ(rig.kubelet.start_container(a), "");
  EXPECT_EQ(rig.cards_of(a), "GPU-1");
}

class StarterPathTest : public StarterTest, public ::testing::WithParamInterface<NamePath> {};

TEST_P(StarterPathTest, AHiddenCardIsShownOnlyWhereTheDeviceOverridesThePodsVariable) {
  rig.kill_agent();
  rig.name_path = GetParam();
  rig.vendor_edits = CdiEdits{"0.5.0", {{"env", {R"("FROM_VENDOR=yes")"}}}};
  rig.boot_agent();
  const Owner a = rig.bound("a", {part("GPU-1", 10, 100)});
  LocalPod hidden = *rig.pods.find(a.uid);
  hidden.choose_devices = hidden.hide_devices = {"main"};
  rig.pods.put(std::move(hidden));
  ASSERT_EQ(rig.kubelet.admit(a), "");
  const std::string answer = rig.kubelet.start_container(a);
  if (GetParam() == NamePath::kEnvironment) {
    EXPECT_TRUE(says(answer, "tangram: cannot start: this node passes the card in ACME_DEVICES"));
    EXPECT_TRUE(rig.cdi.names().empty());
  } else {
    EXPECT_EQ(answer, "");
    EXPECT_EQ(rig.cdi.names().size(), 1U);
  }
}

INSTANTIATE_TEST_SUITE_P(Paths, StarterPathTest,
                         ::testing::Values(NamePath::kCdiDevices, NamePath::kCdiAnnotation,
                                           NamePath::kEnvironment),
                         [](const auto& path) {
                           std::string name(to_string(path.param));
                           std::erase(name, '-');
                           return name;
                         });

}  // namespace
}  // namespace tangram::node
