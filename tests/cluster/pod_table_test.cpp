#include "cluster/pod_table.hpp"

#include "tests/testing/pod_recorder.hpp"
#include "tests/testing/random.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

namespace tangram::cluster {
namespace {

using testing::PodRecorder;

kube::Pod pod(const std::string& uid, const std::string& name, const std::string& node = "") {
  kube::Pod made;
  made.uid = uid;
  made.ns = "ml";
  made.name = name;
  made.node = node;
  made.containers = {{.name = "main", .slots = 1}};
  return made;
}

Result<PodPlan> plan(bool requests_gpu) {
  PodPlan plan;
  if (requests_gpu) plan.demand.gpu.containers.emplace_back().container = "main";
  return plan;
}
const Result<PodPlan> kGpu = plan(true);
const Result<PodPlan> kNoGpu = plan(false);
const Result<PodPlan> kInvalid = fail(Errc::kInvalidArgument, "write 0.333");

std::vector<std::string> uids(const std::vector<PodPtr>& pods) {
  std::vector<std::string> uids;
  for (const PodPtr& pod : pods) uids.push_back(pod->uid);
  return uids;
}
using Uids = std::vector<std::string>;

class PodTableTest : public ::testing::Test {
 protected:
  void show(const kube::Pod& pod, const Result<PodPlan>& plan = kGpu,
            const Recorded& recorded = {}) {
    pods_.put(pod.uid, record_of(pod, plan, recorded, nullptr));
  }
  /// Of the reasons that some pod has.
  [[nodiscard]] std::map<Wait, std::int64_t> waits() const {
    auto counts = pods_.waits();
    EXPECT_EQ(counts.size(), kWaits) << "every reason has its series";
    std::erase_if(counts, [](const auto& entry) { return entry.second == 0; });
    return counts;
  }
  using Waits = std::map<Wait, std::int64_t>;

  PodRecorder recorder_;
  PodTable pods_{{&recorder_}};
};

// ---- Pods without a node.

TEST_F(PodTableTest, CountsTheMembersOfGroups) {
  const auto member = [](const std::string& uid, const std::string& node) {
    kube::Pod made = pod(uid, "member-" + uid, node);
    made.group = {kube::GroupOfPod::Kind::kPodGroup, "g"};
    return made;
  };
  const auto group = [&] { return pods_.group("ml/g"); };
  EXPECT_EQ(group().bound, 0U);
  show(member("a", ""));
  show(member("b", ""));
  show(pod("c", "single"));
  EXPECT_EQ(uids(group().pending), (Uids{"a", "b"}));
  EXPECT_EQ(pods_.waiting_groups(), Uids{"ml/g"});
  show(member("a", "n1"));
  show(member("a", "n1"));
  EXPECT_EQ(uids(group().pending), Uids{"b"});
  EXPECT_EQ(group().bound, 1U);
  show(member("b", "n1"));
  EXPECT_EQ(pods_.waiting_groups(), Uids{});
  EXPECT_EQ(group().bound, 2U);
  pods_.erase("a");
  EXPECT_EQ(group().bound, 1U);
  pods_.erase("b");
  EXPECT_EQ(group().bound, 0U);
  EXPECT_EQ(uids(group().pending), Uids{});
}

TEST_F(PodTableTest, FindsAPendingPodByUidAndByName) {
  show(pod("u1", "a"));
  ASSERT_NE(pods_.find("u1"), nullptr);
  EXPECT_EQ(pods_.find("u1")->name, "a");
  EXPECT_EQ(pods_.find("ml", "a"), pods_.find("u1"));
  EXPECT_EQ(pods_.find("ml", "b"), nullptr);
  EXPECT_EQ(pods_.find("other", "a"), nullptr);
  EXPECT_EQ(pods_.find("u2"), nullptr);
}

TEST_F(PodTableTest, KeepsTheLatestOfAPod) {
  show(pod("u1", "a"));
  const PodPtr old = pods_.find("u1");
  kube::Pod later = pod("u1", "a");
  later.resource_version = "2";
  show(later);
  EXPECT_EQ(pods_.find("u1")->resource_version, "2");
  EXPECT_EQ(old->resource_version, "") << "a reader's copy stays as it was";
  EXPECT_EQ(pods_.pending_count(), 1U);
}

TEST_F(PodTableTest, BoundPodIsNotPending) {
  show(pod("u1", "a"));
  show(pod("u1", "a", "n"));
  EXPECT_EQ(pods_.find("u1"), nullptr);
  EXPECT_EQ(pods_.pending_count(), 0U);
  EXPECT_TRUE(pods_.contains("u1"));
}

TEST_F(PodTableTest, ErasesAPodWithAllThatIsKnownOfIt) {
  Recorded recorded;
  recorded.grant_key = "key";
  recorded.grant_problem = "is not valid";
  show(pod("u1", "a", "n"), kGpu, recorded);
  pods_.set_card_notes({{"u1", {{"u1", "ml", "a"}, {{Finding::kCardMissing, "c"}}}}});
  show(pod("u2", "b"));
  for (const char* uid : {"u1", "u2", "u2", "never-seen"}) pods_.erase(uid);
  EXPECT_FALSE(pods_.contains("u1"));
  EXPECT_EQ(pods_.pending_count(), 0U);
  EXPECT_EQ(waits(), Waits{});
  EXPECT_TRUE(pods_.notes("u1").empty());
  EXPECT_TRUE(pods_.unstarted().empty());
  EXPECT_TRUE(pods_.grant_keys().empty());
  for (const auto& [finding, count] : pods_.findings()) EXPECT_EQ(count, 0) << to_string(finding);
}

TEST_F(PodTableTest, FindsThePodThatWasMadeAgainUnderTheName) {
  show(pod("u2", "a"));
  show(pod("u1", "a"));
  EXPECT_EQ(pods_.find("ml", "a")->uid, "u1") << "the last one that was shown";
  pods_.erase("u2");
  ASSERT_NE(pods_.find("ml", "a"), nullptr);
  EXPECT_EQ(pods_.find("ml", "a")->uid, "u1");
  show(pod("u1", "a", "n"));
  EXPECT_EQ(pods_.find("ml", "a"), nullptr);
}

TEST_F(PodTableTest, RetainsOnlyThePodsToKeep) {
  for (const char* uid : {"u1", "u2", "u3"}) show(pod(uid, uid));
  const auto gone =
      pods_.retain([](const std::string& uid) { return uid == "u2" || uid == "never-seen"; });
  EXPECT_EQ(gone, (Uids{"u1", "u3"}));
  EXPECT_EQ(uids(pods_.pending()), Uids{"u2"});
}

TEST_F(PodTableTest, RetainsAmongManyPods) {
  for (int i = 0; i < 5'000; ++i) pods_.add("u" + std::to_string(i));
  std::size_t asked = 0;
  const auto gone = pods_.retain([&](const std::string& uid) {
    ++asked;
    return uid.ends_with('0');
  });
  EXPECT_EQ(asked, 5'000U);
  EXPECT_EQ(gone.size(), 4'500U);
  EXPECT_TRUE(pods_.contains("u4990"));
  EXPECT_FALSE(pods_.contains("u4991"));
}

TEST_F(PodTableTest, ListsPendingPodsByUid) {
  for (const char* uid : {"u3", "u1", "u2"}) show(pod(uid, "p"));
  EXPECT_EQ(uids(pods_.pending()), (Uids{"u1", "u2", "u3"}));
}

TEST_F(PodTableTest, KnowsAPodFromTheFirstTimeOn) {
  EXPECT_TRUE(pods_.add("u1"));
  EXPECT_FALSE(pods_.add("u1"));
  EXPECT_TRUE(pods_.contains("u1"));
  pods_.erase("u1");
  EXPECT_TRUE(pods_.add("u1"));
}

// ---- What kube-scheduler was answered.

TEST_F(PodTableTest, FollowsAPodFromItsCreationToItsNode) {
  show(pod("a", "a"));
  EXPECT_EQ(waits(), (Waits{{Wait::kNotAsked, 1}}));
  pods_.answered("a", Wait::kRoom);
  show(pod("a", "a"));  // kube-scheduler writes its condition
  EXPECT_EQ(waits(), (Waits{{Wait::kRoom, 1}}));
  pods_.answered("a", Wait::kOffered);
  EXPECT_EQ(waits(), (Waits{{Wait::kOffered, 1}}));
  show(pod("a", "a", "n1"));
  EXPECT_EQ(waits(), Waits{});
  pods_.answered("a", Wait::kRoom);  // late
  EXPECT_EQ(waits(), Waits{});
}

TEST_F(PodTableTest, CountsPodsThatRequestAGpuAlone) {
  show(pod("cpu", "cpu"), kNoGpu);
  show(pod("bound", "bound", "n1"));
  EXPECT_EQ(waits(), Waits{});
}

TEST_F(PodTableTest, KeepsAnAnswerFromBeforeTheWatchShowsThePod) {
  pods_.answered("a", Wait::kRoom);
  EXPECT_FALSE(pods_.contains("a"));
  EXPECT_TRUE(pods_.add("a")) << "it has not been shown before";
  show(pod("a", "a"));
  EXPECT_EQ(waits(), (Waits{{Wait::kRoom, 1}}));
}

TEST_F(PodTableTest, KeepsAnAnswerThatComesWhileThePodIsBeingListed) {
  EXPECT_TRUE(pods_.add("a"));
  EXPECT_TRUE(pods_.add("cpu"));
  pods_.answered("a", Wait::kRoom);
  pods_.answered("cpu", Wait::kOffered);
  pods_.forget_unseen();
  show(pod("a", "a"));
  show(pod("cpu", "cpu"), kNoGpu);
  EXPECT_EQ(waits(), (Waits{{Wait::kRoom, 1}}));
}

TEST_F(PodTableTest, ForgetsAnswersAboutPodsThatTheWatchDoesNotShow) {
  show(pod("a", "a"));
  pods_.answered("never shown", Wait::kRoom);
  pods_.answered("late", Wait::kRoom);
  EXPECT_EQ(pods_.retain([](const std::string& uid) { return uid == "a"; }), Uids{})
      << "they are not the watch's";
  show(pod("late", "late"));
  pods_.forget_unseen();
  EXPECT_EQ(waits(), (Waits{{Wait::kNotAsked, 1}, {Wait::kRoom, 1}}));
}

TEST_F(PodTableTest, KnowsWhetherKubeSchedulerHasAskedAboutAPod) {
  show(pod("u", "p"));
  EXPECT_FALSE(pods_.was_asked("u"));
  EXPECT_FALSE(pods_.was_asked("other"));
  pods_.answered("u", Wait::kRoom);
  EXPECT_TRUE(pods_.was_asked("u"));
  show(pod("u", "p", "node"));
  EXPECT_FALSE(pods_.was_asked("u")) << "it has a node";
  show(pod("wrong", "wrong"), kInvalid);
  EXPECT_FALSE(pods_.was_asked("wrong"));
}

TEST_F(PodTableTest, InvalidAnnotationsCountUntilTheyAreCorrected) {
  show(pod("a", "a"), kInvalid);
  EXPECT_EQ(waits(), (Waits{{Wait::kInvalid, 1}}));
  show(pod("a", "a"));
  EXPECT_EQ(waits(), (Waits{{Wait::kNotAsked, 1}}));
  pods_.answered("a", Wait::kRoom);
  show(pod("a", "a"), kInvalid);
  EXPECT_EQ(waits(), (Waits{{Wait::kInvalid, 1}}));
}

// ---- Bound pods.

TEST_F(PodTableTest, ForgetsUnstartedPodsThatStart) {
  kube::Pod waits = pod("a", "a", "n1");
  show(waits);
  ASSERT_EQ(pods_.unstarted().size(), 1U);
  EXPECT_EQ(pods_.unstarted()[0].pod.uid, "a");
  EXPECT_TRUE(pods_.is_unstarted("a"));
  waits.started = true;
  show(waits);
  EXPECT_TRUE(pods_.unstarted().empty());
  EXPECT_FALSE(pods_.is_unstarted("a"));
  EXPECT_FALSE(pods_.is_unstarted("other"));
}

TEST_F(PodTableTest, CountsGrantsByKey) {
  const auto granted = [](const std::string& key) {
    Recorded recorded;
    recorded.grant_key = key;
    return recorded;
  };
  show(pod("a", "a", "n1"), kGpu, granted("old"));
  show(pod("b", "b", "n1"), kGpu, granted("old"));
  show(pod("b", "b", "n1"), kGpu, granted("new"));
  show(pod("c", "c", "n1"), kGpu, granted(""));
  using Keys = std::map<std::string, std::int64_t>;
  EXPECT_EQ(pods_.grant_keys(), (Keys{{"new", 1}, {"old", 1}}));
  EXPECT_EQ(pods_.grant_key("b"), "new");
  EXPECT_EQ(pods_.grant_key("other"), "");
  pods_.erase("a");
  EXPECT_EQ(pods_.grant_keys(), (Keys{{"new", 1}}));
}

// ---- What is wrong with pods.

TEST_F(PodTableTest, NotifiesOfEachNoteOnceAndCountsThoseThatHold) {
  kube::Pod bad = pod("u", "p");
  bad.containers[0].slots = 0;
  bad.containers.push_back({.name = "side", .slots = 2});
  show(bad);
  show(bad);
  const Uids both{"p TooManySlots", "p SlotMissing"};
  EXPECT_EQ(recorder_.notes, both);
  EXPECT_EQ(pods_.findings().at(Finding::kSlotMissing), 1);
  const NotedPods cards{{"u", {{"u", "ml", "p"}, {{Finding::kCardMissing, "c"}}}}};
  pods_.set_card_notes(cards);
  pods_.set_card_notes(cards);
  EXPECT_EQ(pods_.notes("u").size(), 3U);
  EXPECT_EQ(recorder_.notes.size(), 3U);
  bad.containers[0].slots = 1;
  show(bad);
  EXPECT_EQ(pods_.findings().at(Finding::kSlotMissing), 0);
  EXPECT_EQ(pods_.findings().at(Finding::kTooManySlots), 1);
  EXPECT_EQ(recorder_.notes.size(), 3U);
  pods_.notify_again();
  EXPECT_EQ(recorder_.notes.size(), 5U);
  pods_.erase("u");
  EXPECT_EQ(pods_.findings().at(Finding::kCardMissing), 0);
  show(bad);  // it came back
  EXPECT_EQ(recorder_.notes.size(), 6U);
}

TEST_F(PodTableTest, NotifiesWithoutItsLock) {
  struct Reader final : PodObserver {
    void noted(const PodName& pod, const Note& /*note*/) override {
      notes = pods->notes(pod.uid).size();
    }
    const PodTable* pods = nullptr;
    std::size_t notes = 0;
  };
  Reader reader;
  PodTable table({&reader});
  reader.pods = &table;
  table.put("u", record_of(pod("u", "p"), kInvalid, {}, nullptr));
  EXPECT_EQ(reader.notes, 1U);
}

/// What the table was shown, and a recount of what it keeps beside the records.
class PodTableRecountTest : public PodTableTest {
 protected:
  PodTableRecountTest() : seed_(std::random_device{}()), random_(seed_) {}

  void change() {
    const std::string uid = "u" + std::to_string(random_.below(20));
    switch (random_.below(10)) {
      case 0:
        pods_.erase(uid);
        shown_.erase(uid);
        keys_.erase(uid);
        return;
      case 1:
        return pods_.answered(uid, random_.one_of(kAllWaits));
      case 2:
        return pods_.forget_unseen();
      default:
        return show_some(uid);
    }
  }
  void show_some(const std::string& uid) {
    kube::Pod now = pod(uid, uid, random_.one_in(2) ? "" : "n");
    now.started = random_.one_in(2);
    if (random_.one_in(3)) now.nominated_node = "n";
    Recorded recorded;
    if (!now.node.empty()) recorded.grant_key = random_.one_in(2) ? "k1" : "k2";
    show(now, random_.one_in(4) ? kInvalid : kGpu, recorded);
    keys_[uid] = recorded.grant_key;
    shown_[uid] = std::move(now);
  }

  [[nodiscard]] Uids shown(bool (*wanted)(const kube::Pod&)) const {
    Uids found;
    for (const auto& [uid, pod] : shown_) {
      if (wanted(pod)) found.push_back(uid);
    }
    return found;
  }
  [[nodiscard]] std::map<std::string, std::int64_t> shown_keys() const {
    std::map<std::string, std::int64_t> pods;
    for (const auto& [uid, key] : keys_) {
      if (!key.empty()) ++pods[key];
    }
    return pods;
  }
  [[nodiscard]] Uids unstarted() const {
    Uids found;
    for (const UnstartedPod& each : pods_.unstarted()) found.push_back(each.pod.uid);
    return found;
  }
  [[nodiscard]] std::int64_t waiting() const {
    std::int64_t pods = 0;
    for (const auto& [wait, count] : pods_.waits()) {
      EXPECT_GE(count, 0);
      pods += count;
    }
    return pods;
  }

  const unsigned seed_;
  testing::Random random_;
  std::map<std::string, kube::Pod> shown_;
  std::map<std::string, std::string> keys_;
};

TEST_F(PodTableRecountTest, AgreesWhateverHappens) {
  SCOPED_TRACE("seed " + std::to_string(seed_));
  for (int step = 0; step < 2'000; ++step) {
    change();
    const Uids pending = shown([](const kube::Pod& pod) { return pod.node.empty(); });
    ASSERT_EQ(uids(pods_.pending()), pending);
    ASSERT_EQ(uids(pods_.nominated()), shown([](const kube::Pod& pod) {
                return pod.node.empty() && !pod.nominated_node.empty();
              }));
    ASSERT_EQ(pods_.grant_keys(), shown_keys());
    ASSERT_EQ(unstarted(),
              shown([](const kube::Pod& pod) { return !pod.node.empty() && !pod.started; }));
    pods_.forget_unseen();
    ASSERT_EQ(waiting(), static_cast<std::int64_t>(pending.size()));
  }
}

}  // namespace
}  // namespace tangram::cluster
