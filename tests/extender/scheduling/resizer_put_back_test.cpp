// Grants that somebody has changed.

#include "tests/extender/scheduling/resizer_fixture.hpp"

namespace tangram::extender {
namespace {

using namespace std::chrono_literals;

/// Grants that are put back: the API server's store was restored, or somebody wrote one that was
/// kept.
class PutBackTest : public ResizerTest {
 protected:
  /// A request whose revision the agent applies, and answers as it does: with what the container is
  /// held to, or without, as an older one.
  void resize(const std::string& fraction, bool with_amounts) {
    request(fraction);
    look();
    model::ResizeAnswer answer{.applied = grant().revision};
    if (with_amounts) answer.held["main"]["n-0"] = grant().containers[0].cards[0].amounts();
    this->answer({{uid_, answer}});
    look();
  }
  void put_back(const std::string& text) {
    std::string body;
    json::Writer out(body);
    out.begin_object().member("tangram.dev/gpu-grant", text).end_object();
    annotate("p", body);
  }
  /// Another extender starts. It knows only what stands in the API server.
  struct Started {
    explicit Started(Rig& before) {
      testing::send_list(rig.nodes, before.list("/api/v1/nodes"));
      testing::send_list(rig.pods, before.list("/api/v1/pods"));
    }
    Rig rig;
  };
};

TEST_F(PutBackTest, AnEarlierLargerOneIsReplacedByALaterRevision) {
  const std::string text = model::encode(grant());
  resize("0.1", true);
  EXPECT_EQ(used(), 100);
  put_back(text);
  EXPECT_EQ(used(), 100) << "the watch has shown a later one";
  Started after(rig_);
  const auto cluster = after.rig.ledger.snapshot();
  const auto pod = after.rig.table.find_resizable(uid_);
  ASSERT_NE(pod, nullptr);
  const auto allocation = after.rig.entry(uid_).allocation;
  EXPECT_EQ(allocation->revision, 0);
  const auto resize = cluster::resize_of(*allocation, pod.get(), *cluster->find("n"));
  ASSERT_TRUE(resize);
  EXPECT_EQ(resize->state, cluster::ResizeState::kProposed);
  const auto next = cluster::next_revision(*allocation, *pod->request, *cluster->find("n"));
  EXPECT_EQ(next.revision, 2);
  EXPECT_EQ(next.containers[0].cards[0].compute, MilliGpu(100));
}

TEST_F(PutBackTest, AnEarlierSmallerOneHoldsWhatTheContainersAreHeldTo) {
  const std::string text = model::encode(grant());
  resize("0.9", true);
  put_back(text);
  Started after(rig_);
  EXPECT_EQ(after.rig.entry(uid_).allocation->revision, 0);
  EXPECT_EQ(after.rig.used("n"), MilliGpu(900));
  const std::string other = after.rig.add_pod(
      "other", {{"tangram.dev/gpu-fraction", "0.5"}, {"tangram.dev/gpu-isolation", "time-slice"}});
  after.rig.show("other");
  EXPECT_NE(after.rig.bind("other", other, "n").error, "");
  EXPECT_EQ(after.rig.used("n"), MilliGpu(900));
}

TEST_F(PutBackTest, FromAnOlderAgentTheGrantIsAllThatIsKnown) {
  const std::string text = model::encode(grant());
  resize("0.9", false);
  put_back(text);
  EXPECT_EQ(Started(rig_).rig.used("n"), MilliGpu(500));
}

TEST_F(PutBackTest, ARevisionThatWasReplacedBeforeTheAgentAppliedItIsWrittenAgain) {
  const std::string text = model::encode(grant());
  request("0.7");
  look();
  put_back(text);
  EXPECT_EQ(state(), "InProgress");
  EXPECT_EQ(grant().revision, 0);
  look();
  EXPECT_EQ(grant().revision, 2);
  EXPECT_EQ(granted(), 700);
  EXPECT_EQ(writes(), 2U);
  look();
  EXPECT_EQ(writes(), 2U) << "that is the agent's turn";
}

/// Somebody changes the time in the grant, which nothing else tells apart.
class ForgedTimeTest : public PutBackTest {
 protected:
  void forge() {
    model::Grant forged = grant();
    forged.issued_at = "2020-01-01T00:00:00Z";
    put_back(model::encode(forged));
  }
  const std::string issued_at_ = grant().issued_at;
};

TEST_F(ForgedTimeTest, RevisionsHaveTheTimeThatWasSeenFirst) {
  forge();
  request("0.7");
  look();
  EXPECT_EQ(grant().revision, 1);
  EXPECT_EQ(grant().issued_at, issued_at_);
}

TEST_F(ForgedTimeTest, ARevisionThatTheAgentRefusesForItIsWrittenAgain) {
  request("0.7");
  look();
  forge();
  refused(1, model::ResizeRefusal::kOtherGrant);
  look();
  EXPECT_EQ(grant().revision, 2);
  EXPECT_EQ(grant().issued_at, issued_at_);
  applied(2);
  EXPECT_EQ(state(), "");
}

TEST_F(ForgedTimeTest, IfItIsAllThatIsKnownTheResizeIsInfeasible) {
  forge();
  rig_.pods.change(kube::EventType::kDeleted,
                   rig_.read("p"));  // what an extender forgets that ends
  rig_.show("p");
  request("0.7");
  look();
  EXPECT_EQ(grant().revision, 1);
  refused(1, model::ResizeRefusal::kOtherGrant);
  for (int i = 0; i < 5; ++i) look();
  EXPECT_EQ(state(), "Infeasible");
  EXPECT_EQ(writes(), 1U);
  ASSERT_EQ(told_.size(), 1U);
  EXPECT_NE(told_[0].find("does not take its grant for a revision"), std::string::npos);
}

TEST_F(PutBackTest, ARequestThatIsWithdrawnWithTheGrantKeepsNothing) {
  const std::string text = model::encode(grant());
  request("0.7");
  look();
  put_back(text);
  request("0.5");
  look();
  EXPECT_EQ(grant().revision, 2);
  applied(2);
  look();
  EXPECT_EQ(grant().revision, 3);
  EXPECT_EQ(granted(), 500);
  applied(3);
  EXPECT_EQ(used(), 500);
  EXPECT_EQ(state(), "");
}

TEST_F(PutBackTest, ARevisionThatWasRemovedBeforeTheAgentAppliedItIsWrittenAgain) {
  request("0.7");
  look();
  annotate("p", R"({"tangram.dev/gpu-grant":null})");
  EXPECT_EQ(state(), "InProgress");
  look();
  EXPECT_EQ(grant().revision, 2);
  EXPECT_EQ(granted(), 700);
}

TEST_F(PutBackTest, ARevisionOfOtherCardsHasNoNumberThatCounts) {
  model::Grant forged = grant();
  forged.revision = 50;
  forged.containers[0].cards[0].uuid = "n-1";
  put_back(model::encode(forged));
  request("0.7");
  look();
  EXPECT_EQ(grant().revision, 1);
  EXPECT_EQ(granted(), 700);
  EXPECT_EQ(grant().containers[0].cards[0].uuid, "n-0");
}

/// An extender that starts afterwards would not know the pod's card.
TEST_F(PutBackTest, AGrantThatIsRemovedIsWrittenAgainWithoutAResize) {
  annotate("p", R"({"tangram.dev/gpu-grant":null})");
  look();
  EXPECT_EQ(grant().revision, 1);
  EXPECT_EQ(granted(), 500);
  applied(1);
  EXPECT_EQ(used(), 500);
  for (int i = 0; i < 3; ++i) look();
  EXPECT_EQ(writes(), 1U);
  EXPECT_EQ(state(), "");
}

TEST_F(PutBackTest, AGrantThatIsRemovedAfterAShrinkTakesNoRoomOfOthers) {
  resize("0.1", true);
  const std::string other = rig_.add_pod(
      "other", {{"tangram.dev/gpu-fraction", "0.9"}, {"tangram.dev/gpu-isolation", "time-slice"}});
  rig_.show("other");
  ASSERT_EQ(rig_.bind("other", other, "n").error, "");
  annotate("p", R"({"tangram.dev/gpu-grant":null})");
  for (int i = 0; i < 3; ++i) look();
  EXPECT_EQ(grant().revision, 2);
  EXPECT_EQ(granted(), 100);
  EXPECT_EQ(used(), 1000);
}

TEST_F(PutBackTest, ARevisionOfAnotherLeaderIsReadOnce) {
  annotate("p", R"({"tangram.dev/gpu-fraction":"0.4"})");
  const auto cluster = rig_.ledger.snapshot();
  const auto pod = rig_.table.find_resizable(uid_);
  model::Grant next = grant();
  next.revision = 1;
  next.containers =
      cluster::next_revision(*rig_.entry(uid_).allocation, *pod->request, *cluster->find("n"))
          .containers;
  put_back(model::encode(next));
  applied(1);
  const testing::CallMatch read{.method = kube::Method::kGet, .path_ends = "/pods/p"};
  const std::size_t before = rig_.api.calls(read).size();
  for (int i = 0; i < 300; ++i) {
    resizer_.look();
    clock().advance(std::chrono::seconds(1));
  }
  EXPECT_EQ(rig_.api.calls(read).size(), before + 1);
  EXPECT_EQ(writes(), 0U);
}

TEST_F(PutBackTest, AForgedGrantIsReplacedWithoutAResize) {
  model::Grant forged = grant();
  forged.containers[0].cards[0].uuid = "n-1";
  put_back(model::encode(forged));
  look();
  EXPECT_EQ(grant().revision, 1);
  EXPECT_EQ(grant().containers[0].cards[0].uuid, "n-0");
}

TEST_F(PutBackTest, AGrantOfAnotherPodHasNoNumberThatCounts) {
  model::Grant forged = grant();
  forged.revision = 50;
  forged.pod_uid = "another";
  put_back(model::encode(forged));
  request("0.7");
  look();
  EXPECT_EQ(grant().revision, 1);
  EXPECT_EQ(grant().pod_uid, uid_);
}

TEST_F(PutBackTest, AfterTheLastRevisionThereIsNone) {
  model::Grant forged = grant();
  forged.revision = model::Grant::kMaxRevision;
  put_back(model::encode(forged));
  applied(forged.revision);
  request("0.7");
  look();
  EXPECT_EQ(writes(), 0U);
  EXPECT_EQ(grant().revision, forged.revision);
  EXPECT_EQ(used(), 500);
}

// ---- Grants that somebody writes over before the watch has shown them.

class UnshownTest : public PutBackTest {
 protected:
  /// The revision that answers the request is written, and the watch does not show it.
  void write(const std::string& fraction) {
    request(fraction);
    resizer_.look();
    EXPECT_EQ(grant().revision, 1);
  }
  bool is_awaited() { return rig_.entry(uid_).former != nullptr; }
  const std::string first_ = model::encode(grant());
};

TEST_F(UnshownTest, ALostRevisionIsWrittenAgainUnderAnotherNumber) {
  write("0.7");
  put_back(first_);
  clock().advance(60s);
  look();
  EXPECT_TRUE(is_awaited());
  EXPECT_EQ(used(), 700) << "the watch may still show it";
  clock().advance(10s);
  resizer_.look();
  EXPECT_EQ(grant().revision, 2);
  EXPECT_EQ(granted(), 700);
  rig_.show("p");
  EXPECT_FALSE(is_awaited());
  EXPECT_EQ(used(), 700);
}

TEST_F(UnshownTest, ALostRevisionKeepsNoRoomOnceThePodRequestsWhatItHas) {
  write("0.7");
  put_back(first_);
  request("0.5");
  look();
  EXPECT_EQ(used(), 700);
  clock().advance(70s);
  look();
  EXPECT_FALSE(is_awaited());
  EXPECT_EQ(used(), 500);
  EXPECT_EQ(writes(), 1U);
  EXPECT_EQ(state(), "");
}

/// An older agent does not say what its containers are held to.
TEST_F(UnshownTest, ALostRevisionThatTheAgentHasAppliedCounts) {
  write("0.7");
  put_back(first_);
  answer({{uid_, {.applied = 1}}});
  clock().advance(70s);
  look();
  EXPECT_FALSE(is_awaited());
  EXPECT_EQ(used(), 700);
  look();
  EXPECT_EQ(grant().revision, 2);
  EXPECT_EQ(granted(), 700);
}

TEST_F(UnshownTest, ARevisionThatTheWatchShowsLateKeepsItsRoom) {
  write("0.7");
  for (int i = 0; i < 3; ++i) {
    clock().advance(70s);
    resizer_.look();
    EXPECT_TRUE(is_awaited());
    EXPECT_EQ(used(), 700);
  }
  EXPECT_EQ(writes(), 1U);
  rig_.show("p");
  EXPECT_FALSE(is_awaited());
  EXPECT_EQ(used(), 700);
}

TEST_F(UnshownTest, IsLookedForAgainIfThePodCannotBeRead) {
  write("0.7");
  put_back(first_);
  clock().advance(70s);
  rig_.api.will_answer({.method = kube::Method::kGet, .path_ends = "/pods/p"}, 500);
  look();
  EXPECT_TRUE(is_awaited());
  EXPECT_EQ(used(), 700);
  clock().advance(70s);
  resizer_.look();
  EXPECT_EQ(grant().revision, 2);
}

TEST_F(UnshownTest, AGrantIsWhatThePodWasBoundWith) {
  const std::string uid = rig_.add_pod(
      "q", {{"tangram.dev/gpu-fraction", "0.2"}, {"tangram.dev/gpu-isolation", "time-slice"}});
  rig_.show("q");
  ASSERT_EQ(rig_.bind("q", uid, "n").error, "");
  const model::Grant genuine = grant("q");
  EXPECT_EQ(rig_.entry(uid).issued_at, genuine.issued_at);
  model::Grant forged = genuine;
  forged.issued_at = "2020-01-01T00:00:00Z";
  forged.containers[0].cards[0].compute = forged.containers[0].cards[0].compute_limit = MilliGpu(1);
  std::string body;
  json::Writer out(body);
  out.begin_object().member("tangram.dev/gpu-grant", model::encode(forged)).end_object();
  annotate("q", body);
  EXPECT_EQ(used(), 700);
  EXPECT_EQ(rig_.entry(uid).issued_at, genuine.issued_at);
  EXPECT_TRUE(rig_.entry(uid).observed);
}

}  // namespace
}  // namespace tangram::extender
