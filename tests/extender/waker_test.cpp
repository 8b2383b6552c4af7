#include "extender/waker.hpp"

#include "extender/health_routes.hpp"
#include "tests/extender/scheduling/verbs_fixture.hpp"
#include "tests/testing/exposition.hpp"

#include <optional>

namespace tangram::extender {
namespace {

using namespace std::chrono_literals;
using testing::json_at;

const testing::CallMatch kWake{.method = kube::Method::kPatch, .path_ends = "/tangram-wake"};

/// Nodes a, b and c, full but for c; pods that wait for a card.
class WakerTest : public VerbsTest {
 protected:
  WakerTest() {
    rig_.ask(testing::write_request(
        kube::Method::kPost, "/apis/storage.k8s.io/v1/namespaces/tangram/csistoragecapacities",
        R"({"metadata":{"name":"tangram-wake"},"storageClassName":"tangram.dev.wake"})"));
    for (const std::string node : {"a", "b"}) {
      EXPECT_EQ(rig_.bind("on-" + node, wait("on-" + node, "1"), node).outcome,
                BindOutcome::kBound);
      rig_.show("on-" + node);
    }
  }
  /// The pod's filter finds no room on these nodes.
  void deny(const std::string& pod, const std::string& names = R"(["a","b"])") {
    EXPECT_EQ(json_at(verbs().filter(ask(pod, names)), "NodeNames"), "[]") << pod;
  }
  /// Looks every 50 ms, as the service does. @returns how often it wrote
  std::size_t wakes_in(Waker& waker, std::chrono::milliseconds time) {
    const std::size_t before = rig_.api.calls(kWake).size();
    for (auto passed = 0ms; passed < time; passed += 50ms) {
      waker.look();
      rig_.clock.advance(50ms);
    }
    return rig_.api.calls(kWake).size() - before;
  }
  /// A waker that has made the writes of its term already.
  void start(std::optional<Waker>& waker) {
    waker.emplace(WakerSettings{.ns = "tangram"}, parts());
    EXPECT_EQ(wakes_in(*waker, 12s), Waker::kOfTerm.size())
        << "the answers of an earlier leader are not known";
  }
  Waker::Parts parts() {
    return {.api = rig_.api,
            .clock = rig_.clock,
            .ledger = rig_.ledger,
            .pods = rig_.table,
            .promises = rig_.promises,
            .policies = rig_.policies,
            .denials = rig_.denials,
            .may_write = [this](auto) { return leads_; },
            .term = [this] { return term_; }};
  }

  bool leads_ = true;
  std::uint64_t term_ = 1;
};

TEST_F(WakerTest, WakesAPodWhoseRoomAppearsAfterItsAnswer) {
  std::optional<Waker> waker;
  start(waker);
  wait("p");
  deny("p");
  EXPECT_EQ(wakes_in(*waker, 10s), 0U);
  rig_.end_pod("on-a");
  EXPECT_EQ(wakes_in(*waker, 2s), 1U);
  const std::string object =
      rig_.ask(testing::get_request(
                   "/apis/storage.k8s.io/v1/namespaces/tangram/csistoragecapacities/tangram-wake"))
          .body;
  EXPECT_NE(object.find("tangram.dev/room"), std::string::npos) << object;
}

TEST_F(WakerTest, LeavesTheEventToKubeSchedulerIfItAsksAgain) {
  std::optional<Waker> waker;
  start(waker);
  wait("p");
  deny("p");
  rig_.end_pod("on-a");
  EXPECT_EQ(wakes_in(*waker, 200ms), 0U);
  EXPECT_EQ(json_at(verbs().filter(ask("p", R"(["a","b"])")), "NodeNames"), R"(["a"])");
  EXPECT_EQ(wakes_in(*waker, 10s), 0U);
}

TEST_F(WakerTest, WritesOnceForManyPodsAndSomeTimesIfNothingFollows) {
  std::optional<Waker> waker;
  start(waker);
  for (const char* pod : {"p", "q", "r"}) {
    wait(pod);
    deny(pod);
  }
  rig_.end_pod("on-a");
  rig_.end_pod("on-b");
  EXPECT_EQ(wakes_in(*waker, 2s), 1U);
  EXPECT_EQ(wakes_in(*waker, 30s), static_cast<std::size_t>(Waker::kMostTries) - 1);
}

TEST_F(WakerTest, WritesAtMostOnceASecond) {
  std::optional<Waker> waker;
  start(waker);
  std::size_t wakes = 0;
  for (int round = 0; round < 20; ++round) {
    const std::string pod = "p" + std::to_string(round);
    wait(pod);
    deny(pod);
    rig_.end_pod(round == 0 ? "on-a" : "again-" + std::to_string(round));
    wakes += wakes_in(*waker, 300ms);
    const std::string next = "again-" + std::to_string(round + 1);
    ASSERT_EQ(rig_.bind(next, wait(next, "1"), "a").outcome, BindOutcome::kBound);
    rig_.show(next);
  }
  EXPECT_GE(wakes, 4U);
  EXPECT_LE(wakes, 7U) << "in 6 s";
}

TEST_F(WakerTest, LooksOnlyAtNodesThatThePodWasRefused) {
  std::optional<Waker> waker;
  start(waker);
  wait("p");
  deny("p", R"(["a"])");
  rig_.end_pod("on-b");
  EXPECT_EQ(wakes_in(*waker, 10s), 0U) << "its node selector keeps it off b";
  rig_.end_pod("on-a");
  EXPECT_EQ(wakes_in(*waker, 2s), 1U);
}

TEST_F(WakerTest, LeavesTheRoomOfMoreImportantPodsAlone) {
  std::optional<Waker> waker;
  start(waker);
  wait("p");
  wait("urgent", "1");
  rig_.nominate("urgent", "a");
  deny("p");
  rig_.end_pod("on-a");
  EXPECT_EQ(wakes_in(*waker, 10s), 0U);
  rig_.nominate("urgent", "b");
  EXPECT_EQ(wakes_in(*waker, 2s), 1U) << "which changes no node, and is no event";
}

TEST_F(WakerTest, WakesAPodOnceAPromiseHasEnded) {
  std::optional<Waker> waker;
  start(waker);
  wait("p");
  wait_urgently("urgent", "1");
  rig_.promises.made(*rig_.table.find("ml", "urgent"),
                     {{"a", Victims{.uids = {json_at(rig_.read("on-a"), "metadata.uid")}}}});
  deny("p");
  rig_.end_pod("on-a");
  EXPECT_EQ(wakes_in(*waker, 3s), 0U);
  EXPECT_EQ(wakes_in(*waker, 20s), static_cast<std::size_t>(Waker::kMostTries))
      << "the room was promised in vain";
}

TEST_F(WakerTest, WakesNobodyForRoomThatIsGone) {
  std::optional<Waker> waker;
  start(waker);
  wait("p", "1");
  deny("p");
  rig_.end_pod("on-a");
  waker->look();
  const std::string other = wait("other", "1");
  ASSERT_EQ(rig_.bind("other", other, "a").outcome, BindOutcome::kBound);
  rig_.show("other");
  EXPECT_EQ(wakes_in(*waker, 10s), 0U);
  rig_.end_pod("other");
  EXPECT_EQ(wakes_in(*waker, 2s), 1U);
}

TEST_F(WakerTest, WakesAPodForANodeThatTheWatchShowsLate) {
  std::optional<Waker> waker;
  start(waker);
  wait("p");
  deny("p", R"(["a","late"])");
  rig_.add_node("late");
  rig_.add_node("other");
  rig_.sync();
  EXPECT_EQ(wakes_in(*waker, 2s), 1U);
  wait("q");
  deny("q", R"(["a","b"])");
  rig_.add_node("new");
  rig_.sync();
  (void)wakes_in(*waker, 10s);
  EXPECT_EQ(wakes_in(*waker, 10s), 0U) << "kube-scheduler sees a new node itself";
}

TEST_F(WakerTest, WakesANominatedPodThatGotNoError) {
  std::optional<Waker> waker;
  start(waker);
  wait("p");
  wait("first", "1");
  EXPECT_EQ(json_at(verbs().filter(ask("first", R"(["c"])")), "NodeNames"), R"(["c"])");
  rig_.nominate("p", "c");  // so that it is not told to try again by time
  EXPECT_EQ(json_at(verbs().filter(ask("p", R"(["c"])")), "Error"), "");
  EXPECT_EQ(wakes_in(*waker, 2s), 0U);
  EXPECT_EQ(wakes_in(*waker, 500ms), 1U) << "in place of an Error";
}

TEST_F(WakerTest, WakesAPreemptorWhoseVictimsWereInDoubt) {
  std::optional<Waker> waker;
  start(waker);
  const auto doubtful = [&](bool begin) {
    rig_.ledger.apply([&](model::Ledger& ledger) {
      if (!begin) return ledger.confirm("busy").has_value();
      return ledger
          .assume(testing::allocation("busy", "c", {testing::granted("c-0", 81'920, 1000)}), 70s)
          .has_value();
    });
  };
  doubtful(true);
  wait_urgently("p", "1");
  rig_.nominate("p", "a");
  EXPECT_EQ(json_at(verbs().filter(ask("p", R"(["c"])")), "Error"), "");
  rig_.table.answered(rig_.table.find("ml", "p")->uid, cluster::Wait::kRoom);
  EXPECT_EQ(verbs().preempt(R"({"Pod":)" + rig_.read("p") +
                            R"(,"NodeNameToMetaVictims":{"c":{"Pods":[]}}})"),
            R"({"NodeNameToMetaVictims":{}})");
  EXPECT_EQ(wakes_in(*waker, 1500ms), 0U);
  doubtful(false);
  EXPECT_EQ(wakes_in(*waker, 400ms), 1U);
}

TEST_F(WakerTest, WakesAPodThatWasOfferedOneNodeInVain) {
  rig_.end_pod("on-a");
  std::optional<Waker> waker;
  start(waker);
  wait("p");
  const auto offer = [&] {
    return json_at(verbs(1).filter(ask("p", R"(["a","c"])")), "NodeNames");
  };
  EXPECT_EQ(offer(), R"(["a"])");
  EXPECT_EQ(wakes_in(*waker, 2900ms), 0U) << "its bind may come";
  EXPECT_EQ(wakes_in(*waker, 500ms), 1U);
  EXPECT_EQ(offer(), R"(["c","a"])");
  EXPECT_EQ(wakes_in(*waker, 30s), 0U) << "it was offered all there is";
  for (int round = 0; round < 4; ++round) {
    (void)offer();
    EXPECT_EQ(wakes_in(*waker, 5s), 0U) << "else two such pods wake each other for ever";
  }
}

TEST_F(WakerTest, WakesNoPodWhoseBindCame) {
  rig_.end_pod("on-a");
  std::optional<Waker> waker;
  start(waker);
  const std::string uid = wait("p");
  Verbs one = verbs(1);
  (void)one.filter(ask("p", R"(["a","c"])"));
  (void)one.bind(bind_body("p", uid, "a"), rig_.in_time());
  wait("gone");
  (void)one.filter(ask("gone", R"(["a","c"])"));
  rig_.end_pod("gone");
  EXPECT_EQ(wakes_in(*waker, 30s), 0U);
}

TEST_F(WakerTest, BeginsEachTermWithWrites) {
  std::optional<Waker> waker;
  start(waker);
  leads_ = false;
  ++term_;
  EXPECT_EQ(wakes_in(*waker, 10s), 0U);
  leads_ = true;
  rig_.api.will_answer(kWake, 503);
  EXPECT_EQ(wakes_in(*waker, 500ms), 1U);
  EXPECT_EQ(wakes_in(*waker, 12s), Waker::kOfTerm.size()) << "the failed one does not count";
}

TEST_F(WakerTest, BacksOffIfItMayNotWrite) {
  std::optional<Waker> waker;
  start(waker);
  wait("p");
  deny("p");
  rig_.end_pod("on-a");
  for (int i = 0; i < 4; ++i) rig_.api.will_answer(kWake, 403);
  EXPECT_EQ(wakes_in(*waker, 10s), 4U) << "after 0.3, 1.3, 3.3 and 7.3 s";
  EXPECT_EQ(wakes_in(*waker, 10s), 2U) << "after 15.3 s, and once more";
  const testing::Exposition page(exposition({&*waker}));
  EXPECT_EQ(page.value(R"(tangram_wakes_total{result="failed"})"), 4);
  EXPECT_EQ(page.value(R"(tangram_wakes_total{result="sent"})"), 5);
}

TEST_F(WakerTest, DoesNothingWithoutANamespace) {
  Waker waker({.ns = ""}, parts());
  wait("p");
  deny("p");
  rig_.end_pod("on-a");
  EXPECT_EQ(wakes_in(waker, 10s), 0U);
}

TEST_F(WakerTest, ForgetsPodsThatAreGone) {
  std::optional<Waker> waker;
  start(waker);
  wait("p");
  deny("p");
  rig_.end_pod("p");
  EXPECT_EQ(wakes_in(*waker, 70s), 0U);
  EXPECT_TRUE(rig_.denials.all().empty());
}

}  // namespace
}  // namespace tangram::extender
