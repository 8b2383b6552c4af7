#include "node/audit/device_checker.hpp"

#include "tests/testing/eventually.hpp"
#include "tests/testing/manual_clock.hpp"
#include "tests/testing/temp_folder.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <thread>

namespace tangram::node {
namespace {

using namespace std::chrono_literals;
using testing::eventually;

/// A runtime in memory. Threads: one at a time, but for looks().
class FakeContainers final : public ContainerRuntime {
 public:
  void add(const std::string& id, const std::string& pod, std::vector<std::string> environment) {
    running[id] = {id, "uid-" + pod, "ml", pod, "main"};
    environments[id] = std::move(environment);
  }
  Result<std::vector<RuntimeContainer>> list() override {
    ++looks;
    if (!answers) return fail(Errc::kUnavailable, "connection refused");
    if (list_too_large) return fail(Errc::kConflict, "the list is too large");
    std::vector<RuntimeContainer> list;
    for (const auto& [id, container] : running) list.push_back(container);
    return list;
  }
  Result<std::vector<RuntimeContainer>> list_of(const std::string& pod_uid) override {
    pods_listed.push_back(pod_uid);
    during_list();
    const auto refused = pod_refusals.find(pod_uid);
    if (refused != pod_refusals.end()) return refused->second;
    std::vector<RuntimeContainer> list;
    for (const auto& [id, container] : running) {
      if (container.pod_uid == pod_uid) list.push_back(container);
    }
    return list;
  }
  Result<std::vector<std::string>> environment(const std::string& id) override {
    ++asked;
    if (!tells) return fail(Errc::kUnavailable, "no answer");
    if (const auto refused = refusals.find(id); refused != refusals.end()) {
      during_refusal();
      return refused->second;
    }
    const auto found = environments.find(id);
    if (found == environments.end()) return fail(Errc::kNotFound, "no such container");
    return found->second;
  }
  Result<void> end(const std::string& id) override {
    ended.push_back(id);
    if (!ends) return fail(Errc::kUnavailable, "no answer");
    running.erase(id);
    return {};
  }

  std::map<std::string, RuntimeContainer> running;
  std::map<std::string, std::vector<std::string>> environments;
  std::map<std::string, Error> refusals;  ///< to tell an environment
  std::function<void()> during_refusal = [] {};
  std::map<std::string, Error> pod_refusals;  ///< to list a pod's containers, by UID
  std::function<void()> during_list = [] {};
  std::vector<std::string> pods_listed;
  std::vector<std::string> ended;
  std::atomic<int> looks = 0;
  int asked = 0;
  bool answers = true;
  bool list_too_large = false;
  bool tells = true;
  bool ends = true;
};

/// Kubelet's list in memory.
struct FakeLister final : PodLister {
  Result<PodList> list() override {
    if (!answers) return fail(Errc::kUnavailable, "no answer");
    return listed;
  }
  PodList listed;
  bool answers = true;
};

/// Pod a's container in kubelet's two records.
const ListedContainer kListedA{"ml", "a", "main", {"slot-a"}};
const SlotOwner kOwnerA{
    .pod_uid = "uid-a", .container = "main", .slots = {"slot-a"}, .name = "slot-a"};

class DeviceCheckerTest : public ::testing::Test {
 protected:
  DeviceCheckerTest() { allow("a"); }
  /// The agent lets the pod's container start, with the mark "MARK=POD".
  void allow(const std::string& pod) {
    const std::string name = "slot-" + pod;
    Claim claim;
    claim.pod_uid = "uid-" + pod;
    claim.container = "main";
    claim.mark = "MARK=" + pod;
    ASSERT_TRUE(journal.put({.name = name, .slots = {name}, .allocated_at = "", .claim = claim}));
  }
  /// Pod a's container starts again, with this mark.
  void start_again(const std::string& mark) {
    Claim again = *journal.find("slot-a")->claim;
    again.former_mark = again.mark;
    again.mark = mark;
    JournalEntry entry = *journal.find("slot-a");
    entry.claim = again;
    ASSERT_TRUE(journal.put(entry));
  }
  static Journal open(const std::string& path) {
    auto opened = Journal::open(path);
    return std::move(*opened);
  }
  void look(int times = 1) {
    for (int i = 0; i < times; ++i) checker.look();
  }

  testing::TempFolder folder;
  testing::ManualClock clock;
  Journal journal = open(folder.path() + "/allocations");
  FakeContainers runtime;
  std::vector<std::string> events;
  FakeLister lister;
  Result<std::vector<SlotOwner>> owners = std::vector<SlotOwner>{kOwnerA};
  DeviceChecker checker{{.runtime = runtime,
                         .lister = lister,
                         .slot_owners = [this] { return owners; },
                         .journal = journal,
                         .report_event =
                             [this](const kube::EventNote& note) {
                               events.push_back(note.reason + " " + note.name + " " + note.uid);
                             },
                         .clock = clock,
                         .sleeper = [this](std::chrono::milliseconds wait,
                                           const std::stop_token&) { clock.advance(wait); }},
                        1h};
};

TEST_F(DeviceCheckerTest, EndsAndReportsAContainerWithoutItsDevice) {
  runtime.add("c1", "a", {"NVIDIA_VISIBLE_DEVICES=all"});
  look(3);
  EXPECT_EQ(runtime.ended, std::vector<std::string>{"c1"});
  EXPECT_EQ(events, std::vector<std::string>{"DeviceMissing a uid-a"});
  EXPECT_EQ(checker.counts().ended, 1U);
  EXPECT_EQ(checker.counts().failed, 0U);
}

TEST_F(DeviceCheckerTest, LeavesTheOthersAloneAndAsksForEachOnce) {
  runtime.add("c1", "a", {"MARK=a"});
  runtime.add("c2", "plain", {"NVIDIA_VISIBLE_DEVICES=all"});
  look(3);
  EXPECT_TRUE(runtime.ended.empty());
  EXPECT_EQ(runtime.asked, 1);
  runtime.running.clear();
  look();
  runtime.add("c1", "a", {"MARK=a"});
  look();
  EXPECT_EQ(runtime.asked, 2) << "what has ended is forgotten";
}

TEST_F(DeviceCheckerTest, WhatThePodLearntAtAnEarlierStartShowsNothing) {
  runtime.add("c1", "a", {"MARK=a"});
  look();
  runtime.running.clear();
  start_again("MARK=b");
  start_again("MARK=c");
  runtime.add("c2", "a", {"MARK=a", "ANY=tangram.dev/slot=slot-a"});
  lister.listed = {kListedA};
  look();
  EXPECT_EQ(runtime.ended, std::vector<std::string>{"c2"});
}

TEST_F(DeviceCheckerTest, TheMarkOfTheStartBeforeCountsWhileKubeletListsTheSlot) {
  start_again("MARK=b");
  lister.listed = {kListedA};
  runtime.add("c1", "a", {"MARK=a"});
  look(2);
  EXPECT_TRUE(runtime.ended.empty()) << "the runtime had not read the new spec yet";
  EXPECT_EQ(runtime.asked, 1);
}

TEST_F(DeviceCheckerTest, TheMarkOfTheStartBeforeShowsNothingOnceKubeletTookTheSlot) {
  start_again("MARK=b");
  runtime.add("c1", "a", {"MARK=a"});
  lister.answers = false;
  look();
  EXPECT_TRUE(runtime.ended.empty());
  EXPECT_EQ(checker.counts().failed, 1U);
  lister.answers = true;
  for (const PodList& list : {PodList{{"ml", "a", "other", {"slot-a"}}}, PodList{}}) {
    lister.listed = list;
    look();
  }
  EXPECT_EQ(runtime.ended, std::vector<std::string>{"c1"});
}

TEST_F(DeviceCheckerTest, TheMarkOfTheStartBeforeShowsNothingInAPodThatWasMadeAnew) {
  SlotOwner anew = kOwnerA;
  anew.pod_uid = "uid-anew";
  anew.name = "slot-a.anew";
  SlotOwner elsewhere = anew;
  elsewhere.slots = {"slot-9"};
  const ListedContainer other_slot{"ml", "a", "main", {"slot-9"}};
  int id = 0;
  start_again("MARK=b");
  // With another slot, before and after kubelet wrote its checkpoint; with the same one.
  for (const auto& [listed, owner] :
       {std::pair{other_slot, kOwnerA}, {other_slot, elsewhere}, {kListedA, anew}}) {
    lister.listed = {listed};
    owners = std::vector<SlotOwner>{owner};
    runtime.add("c" + std::to_string(++id), "a", {"NVIDIA_VISIBLE_DEVICES=void", "MARK=a"});
    look();
  }
  EXPECT_EQ(runtime.ended, (std::vector<std::string>{"c1", "c2", "c3"}));
}

TEST_F(DeviceCheckerTest, WithoutKubeletsCheckpointItDoesNotJudgeByTheMarkOfTheStartBefore) {
  start_again("MARK=b");
  lister.listed = {kListedA};
  runtime.add("c1", "a", {"MARK=a"});
  owners = fail(Errc::kNotFound, "cannot be read");
  look();
  EXPECT_EQ(checker.counts().failed, 1U);
  owners = std::vector<SlotOwner>{kOwnerA};
  look();
  EXPECT_TRUE(runtime.ended.empty());
  EXPECT_EQ(checker.counts().failed, 1U);
}

TEST_F(DeviceCheckerTest, AContainerThatStaysOlderThanItsStartIsJudgedAfterAMinute) {
  JournalEntry entry = *journal.find("slot-a");
  entry.claim->marked_at = 2'000;
  ASSERT_TRUE(journal.put(entry));
  allow("b");
  entry = *journal.find("slot-b");
  entry.claim->marked_at = 2'000;
  ASSERT_TRUE(journal.put(entry));
  runtime.add("c1", "a", {"NVIDIA_VISIBLE_DEVICES=all"});
  runtime.add("c2", "b", {"MARK=b"});
  for (const char* id : {"c1", "c2"}) runtime.running[id].created_at = 1'999;
  look();
  clock.advance(59s);
  look();
  EXPECT_EQ(runtime.asked, 0) << "the former container, which is about to end";
  clock.advance(1s);
  look(2);
  EXPECT_EQ(runtime.ended, std::vector<std::string>{"c1"}) << "the clock was set back";
  EXPECT_EQ(runtime.asked, 2);
}

TEST_F(DeviceCheckerTest, AFormerContainerThatWasJudgedIsNotJudgedAgain) {
  runtime.add("c1", "a", {"MARK=a"});
  runtime.running["c1"].created_at = 1'000;
  look();
  JournalEntry entry = *journal.find("slot-a");
  entry.claim->mark = "MARK=b";
  entry.claim->marked_at = 2'000;
  ASSERT_TRUE(journal.put(entry));
  look();
  clock.advance(1h);
  look();
  EXPECT_TRUE(runtime.ended.empty());
  EXPECT_EQ(runtime.asked, 1);
}

TEST_F(DeviceCheckerTest, TriesAgainUntilItHasEndedAndReportsOnce) {
  runtime.add("c1", "a", {});
  runtime.ends = false;
  look(2);
  runtime.ends = true;
  look(2);
  EXPECT_EQ(runtime.ended.size(), 3U);
  EXPECT_EQ(events.size(), 1U);
  EXPECT_EQ(checker.counts().not_ended, 2U);
  EXPECT_EQ(checker.counts().ended, 1U);
}

TEST_F(DeviceCheckerTest, WithoutAnAnswerItJudgesNothing) {
  runtime.add("c1", "a", {});
  runtime.answers = false;
  look();
  runtime.answers = true;
  runtime.tells = false;
  look();
  EXPECT_TRUE(runtime.ended.empty());
  EXPECT_EQ(checker.counts().failed, 2U);
  runtime.tells = true;
  look();
  EXPECT_EQ(runtime.ended.size(), 1U);
}

TEST_F(DeviceCheckerTest, AContainerThatEndsMeanwhileIsNoFailure) {
  runtime.add("c1", "a", {});
  runtime.environments.clear();
  look();
  EXPECT_EQ(checker.counts().failed, 0U);
}

TEST_F(DeviceCheckerTest, AsksForABoundedNumberAtATime) {
  for (int i = 0; i < 100; ++i) {
    allow("p" + std::to_string(i));
    runtime.add("c" + std::to_string(i), "p" + std::to_string(i), {"MARK=p" + std::to_string(i)});
  }
  look();
  EXPECT_EQ(runtime.asked, 64);
  look();
  EXPECT_EQ(runtime.asked, 100);
}

TEST_F(DeviceCheckerTest, ContainersThatCannotBeReadLeaveTheOthersTheirTurn) {
  for (int i = 0; i < 100; ++i) {
    const std::string pod = "big" + std::to_string(i);
    allow(pod);
    runtime.add("a" + std::to_string(i), pod, {});  // listed first
    runtime.refusals["a" + std::to_string(i)] = fail(Errc::kUnavailable, "timeout");
  }
  runtime.add("c1", "a", {"NVIDIA_VISIBLE_DEVICES=all"});
  look(2);
  EXPECT_EQ(runtime.ended, std::vector<std::string>{"c1"});
  EXPECT_EQ(runtime.asked, 2 * 64);
}

TEST_F(DeviceCheckerTest, AContainerThatIsTooLargeToReadIsReportedOnceAndLeftAlone) {
  runtime.add("c1", "a", {});
  runtime.refusals["c1"] = fail(Errc::kConflict, "its record is too large");
  look(3);
  EXPECT_EQ(runtime.asked, 1);
  EXPECT_TRUE(runtime.ended.empty());
  EXPECT_EQ(checker.counts().unjudged, 1U);
  EXPECT_EQ(checker.counts().failed, 0U) << "the runtime answers";
}

TEST_F(DeviceCheckerTest, WhereTheListIsTooLargeOnlyThePodsThatMakeItSoAreNotChecked) {
  allow("huge");
  allow("b");
  runtime.list_too_large = true;
  runtime.pod_refusals["uid-huge"] = fail(Errc::kConflict, "its record is too large");
  runtime.add("c1", "huge", {});
  runtime.add("c2", "a", {"MARK=a"});
  runtime.add("c3", "b", {"NVIDIA_VISIBLE_DEVICES=all"});
  look(3);
  EXPECT_EQ(runtime.ended, std::vector<std::string>{"c3"});
  EXPECT_EQ(runtime.asked, 2) << "each once";
  EXPECT_EQ(checker.counts().unjudged, 1U) << "once";
  EXPECT_EQ(checker.counts().failed, 0U) << "the runtime answers";
  runtime.list_too_large = false;
  runtime.pods_listed.clear();
  look();
  EXPECT_TRUE(runtime.pods_listed.empty());
  EXPECT_EQ(runtime.ended.back(), "c1");
}

TEST_F(DeviceCheckerTest, PodsThatAreSlowToListLeaveTheOthersTheirTurn) {
  for (const char* pod : {"b", "c"}) allow(pod);
  runtime.list_too_large = true;
  runtime.add("c0", "a", {"MARK=a"});
  runtime.add("c1", "c", {"NVIDIA_VISIBLE_DEVICES=all"});
  runtime.pod_refusals["uid-b"] = fail(Errc::kUnavailable, "timeout");
  runtime.during_list = [this] { clock.advance(5s); };
  look(3);
  EXPECT_EQ(runtime.pods_listed, (std::vector<std::string>{"uid-a", "uid-b", "uid-c"}));
  EXPECT_EQ(runtime.ended, std::vector<std::string>{"c1"});
  EXPECT_EQ(checker.counts().failed, 3U) << "each was incomplete";
  look(3);
  EXPECT_EQ(runtime.asked, 2) << "what an incomplete list lacks is not forgotten";
}

TEST_F(DeviceCheckerTest, CallsThatTimeOutDoNotKeepNewContainersWaiting) {
  for (int i = 0; i < 10; ++i) {
    const std::string pod = "slow" + std::to_string(i);
    allow(pod);
    runtime.add("b" + std::to_string(i), pod, {});
    runtime.refusals["b" + std::to_string(i)] = fail(Errc::kUnavailable, "timeout");
  }
  runtime.during_refusal = [this] { clock.advance(5s); };
  look();
  EXPECT_EQ(runtime.asked, 1);
  runtime.add("c1", "a", {});
  look(10);
  EXPECT_EQ(runtime.ended, std::vector<std::string>{"c1"});
}

TEST_F(DeviceCheckerTest, LooksOftenOnlyAfterAStart) {
  std::jthread running([this](const std::stop_token& stop) { checker.run(stop); });
  ASSERT_TRUE(eventually([&] { return runtime.looks == 1; }));
  for (int start = 1; start <= 2; ++start) {
    const TimePoint end = clock.now() + 10s;
    checker.started();
    ASSERT_TRUE(eventually([&] { return clock.now() == end; })) << "looks every 250 ms until then";
  }
  running.request_stop();
  running.join();
  // Before each sleep, and one more where the checker waited for the start.
  EXPECT_GE(runtime.looks, 2 * 40);
  EXPECT_LE(runtime.looks, 1 + 2 * 41) << "none before the interval has passed";
}

}  // namespace
}  // namespace tangram::node
