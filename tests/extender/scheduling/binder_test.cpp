#include "extender/scheduling/binder.hpp"

#include "model/grant.hpp"
#include "tests/extender/rig.hpp"
#include "tests/testing/log_probe.hpp"
#include "tests/testing/odd_fields.hpp"
#include "tests/testing/passing_api.hpp"

#include <gtest/gtest.h>

namespace tangram::extender {
namespace {

using namespace std::chrono_literals;
using testing::any_binding;
using testing::binding_of;
using testing::Fault;
using testing::read_of;

constexpr MilliGpu kHalf{500};
constexpr MilliGpu kNothing{};

/// Two nodes, a and b, with one card each.
class BinderTest : public ::testing::Test {
 protected:
  BinderTest() {
    rig_.add_node("a");
    rig_.add_node("b");
    rig_.sync();
  }
  /// A pod that asks half a card and waits.
  std::string waiting_half(const std::string& name) {
    std::string uid = rig_.add_half(name);
    rig_.show(name);
    return uid;
  }
  std::size_t reads(const std::string& pod) { return rig_.api.calls(read_of(pod)).size(); }

  Rig rig_;
};

// ---- The way it goes nearly always.

TEST_F(BinderTest, BindsWithOneWriteThatCarriesNodeAndGrant) {
  const std::string uid = waiting_half("p");
  const auto answer = rig_.bind("p", uid, "a");
  EXPECT_EQ(answer.outcome, BindOutcome::kBound) << answer.error;
  EXPECT_EQ(answer.error, "");
  ASSERT_EQ(rig_.api.calls().size(), 1U);  // no read before, none after
  const std::string body = rig_.api.calls()[0].body;
  EXPECT_EQ(testing::json_at(body, "metadata.uid"), uid);
  EXPECT_EQ(testing::json_at(body, "target.name"), "a");
  EXPECT_EQ(rig_.node_of("p"), "a");
  EXPECT_TRUE(rig_.grant_of("p"));
}

TEST_F(BinderTest, WritesAGrantThatIsWhatTheBooksSay) {
  const std::string uid = waiting_half("p");
  ASSERT_EQ(rig_.bind("p", uid, "a").outcome, BindOutcome::kBound);
  const auto grant = rig_.grant_of("p");
  ASSERT_TRUE(grant) << grant.error().message;
  EXPECT_EQ(grant->pod_uid, uid);
  EXPECT_EQ(grant->node, "a");
  EXPECT_EQ(grant->issued_at, "2026-01-01T00:00:00Z");
  EXPECT_EQ(grant->isolation, model::Isolation::kMps);
  ASSERT_EQ(grant->containers.size(), 1U);
  EXPECT_EQ(grant->containers[0].container, "main");
  EXPECT_EQ(grant->containers[0].cards,
            std::vector{testing::shared("a-0", 40'960, 500)});  // half of 81,920 MiB
  const auto entry = rig_.entry(uid);
  ASSERT_NE(entry.allocation, nullptr);
  EXPECT_EQ(entry.phase, model::Phase::kConfirmed);
  EXPECT_EQ(entry.allocation->containers, grant->containers);
}

TEST_F(BinderTest, BooksWhatTheWatchWillShow) {
  const std::string uid = waiting_half("p");
  ASSERT_EQ(rig_.bind("p", uid, "a").outcome, BindOutcome::kBound);
  const std::string booked = rig_.picture();
  rig_.show("p");
  EXPECT_EQ(rig_.picture(), booked);
  EXPECT_TRUE(rig_.entry(uid).observed);
  EXPECT_EQ(rig_.counters.bad_grants, 0U);
}

TEST_F(BinderTest, ReadsAPodThatTheWatchHasNotShown) {
  const std::string uid = rig_.add_half("p");
  EXPECT_EQ(rig_.bind("p", uid, "a").outcome, BindOutcome::kBound);
  EXPECT_EQ(reads("p"), 1U);
  EXPECT_EQ(rig_.used("a"), kHalf);
}

TEST_F(BinderTest, BindsAPodWithoutCardsWithoutAGrant) {
  const std::string uid = rig_.add_pod("cpu", {});
  rig_.show("cpu");
  const auto answer = rig_.bind("cpu", uid, "a");
  EXPECT_EQ(answer.outcome, BindOutcome::kBound) << answer.error;
  EXPECT_EQ(rig_.node_of("cpu"), "a");
  EXPECT_EQ(rig_.grant_of("cpu").error().code, Errc::kNotFound);
  EXPECT_EQ(rig_.used("a"), kNothing);
  const std::string booked = rig_.picture();
  rig_.show("cpu");
  EXPECT_EQ(rig_.picture(), booked);
}

TEST_F(BinderTest, BindsAPodWithoutCardsToANodeItDoesNotKnow) {
  const std::string uid = rig_.add_pod("cpu", {});
  rig_.show("cpu");
  rig_.add_node("new");  // not in the ledger yet
  EXPECT_EQ(rig_.bind("cpu", uid, "new").outcome, BindOutcome::kBound);
  EXPECT_EQ(rig_.node_of("cpu"), "new");
  rig_.show("cpu");
  EXPECT_NE(rig_.entry(uid).allocation, nullptr);
}

TEST_F(BinderTest, ReplacesAGrantThatThePodBroughtAlong) {
  const std::string uid =
      rig_.add_pod("p", {{"tangram.dev/gpu-fraction", "0.5"}, {"tangram.dev/gpu-grant", "forged"}});
  rig_.show("p");
  ASSERT_EQ(rig_.bind("p", uid, "a").outcome, BindOutcome::kBound);
  const auto grant = rig_.grant_of("p");
  ASSERT_TRUE(grant);
  EXPECT_EQ(grant->pod_uid, uid);
}

// ---- Repeats.

TEST_F(BinderTest, AnswersARepeatAsBoundWithoutAskingAgain) {
  const std::string uid = waiting_half("p");
  ASSERT_EQ(rig_.bind("p", uid, "a").outcome, BindOutcome::kBound);
  const std::string before = rig_.picture();
  const auto again = rig_.bind("p", uid, "a");
  EXPECT_EQ(again.outcome, BindOutcome::kAlreadyBound);
  EXPECT_EQ(again.error, "");
  rig_.show("p");
  EXPECT_EQ(rig_.bind("p", uid, "a").outcome, BindOutcome::kAlreadyBound);
  EXPECT_EQ(rig_.picture(), before);
  EXPECT_EQ(rig_.api.calls().size(), 1U);
}

TEST_F(BinderTest, AnswersARepeatAsBoundThoughTheBooksAreNew) {
  const std::string uid = waiting_half("p");
  ASSERT_EQ(rig_.bind("p", uid, "a").outcome, BindOutcome::kBound);
  rig_.ledger.apply([&](model::Ledger& ledger) { ledger.release(uid); });
  rig_.table.erase(uid);
  EXPECT_EQ(rig_.bind("p", uid, "a").outcome, BindOutcome::kAlreadyBound);
  EXPECT_EQ(rig_.api.calls(any_binding()).size(), 1U);
}

TEST_F(BinderTest, RefusesToBindABoundPodElsewhere) {
  const std::string uid = waiting_half("p");
  ASSERT_EQ(rig_.bind("p", uid, "a").outcome, BindOutcome::kBound);
  const std::string before = rig_.picture();
  const auto answer = rig_.bind("p", uid, "b");
  EXPECT_EQ(answer.outcome, BindOutcome::kRefused);
  EXPECT_NE(answer.error.find("node a"), std::string::npos) << answer.error;
  EXPECT_EQ(rig_.picture(), before);
  EXPECT_EQ(rig_.api.calls(any_binding()).size(), 1U);
}

// ---- Refusals change nothing.

struct RefusedBind {
  std::string name;
  std::map<std::string, std::string> annotations;
  std::string node = "a";
  BindOutcome outcome = BindOutcome::kInvalid;
  std::string says;
};
void PrintTo(const RefusedBind& row, std::ostream* out) { *out << row.name; }

class RefusedBindTest : public BinderTest, public ::testing::WithParamInterface<RefusedBind> {};

TEST_P(RefusedBindTest, SaysWhyAndAsksNobody) {
  const std::string uid = rig_.add_pod("p", GetParam().annotations);
  rig_.show("p");
  const std::string before = rig_.picture();
  const auto answer = rig_.bind("p", uid, GetParam().node);
  EXPECT_EQ(answer.outcome, GetParam().outcome);
  EXPECT_NE(answer.error.find(GetParam().says), std::string::npos) << answer.error;
  EXPECT_EQ(rig_.picture(), before);
  EXPECT_TRUE(rig_.api.calls().empty());
  EXPECT_EQ(rig_.node_of("p"), "<none>");
  EXPECT_EQ(rig_.offers.refused(uid), (std::set<std::string, std::less<>>{GetParam().node}));
  EXPECT_NE(rig_.table.find(uid), nullptr);
}

INSTANTIATE_TEST_SUITE_P(
    Binds, RefusedBindTest,
    ::testing::Values(RefusedBind{.name = "FractionAboveOne",
                                  .annotations = {{"tangram.dev/gpu-fraction", "1.5"}},
                                  .says = "tangram.dev/gpu-fraction"},
                      RefusedBind{.name = "UnknownAnnotation",
                                  .annotations = {{"tangram.dev/gpu-fractoin", "0.5"}},
                                  .says = "write tangram.dev/gpu-fraction"},
                      RefusedBind{.name = "UnknownPolicy",
                                  .annotations = {{"tangram.dev/gpu-fraction", "0.5"},
                                                  {"tangram.dev/gpu-policy", "luck"}},
                                  .says = "there is no policy \"luck\"; write one of"},
                      RefusedBind{.name = "UnknownNode",
                                  .annotations = {{"tangram.dev/gpu-fraction", "0.5"}},
                                  .node = "nowhere",
                                  .outcome = BindOutcome::kNoRoom,
                                  .says = "node has not reported its GPU cards"},
                      RefusedBind{.name = "MoreCardsThanTheNodeHas",
                                  .annotations = {{"tangram.dev/gpu-count", "2"}},
                                  .outcome = BindOutcome::kNoRoom,
                                  .says = "node has fewer GPU cards than the pod asks for"},
                      RefusedBind{.name = "AnotherModel",
                                  .annotations = {{"tangram.dev/gpu-fraction", "0.5"},
                                                  {"tangram.dev/gpu-model", "H100*"}},
                                  .outcome = BindOutcome::kNoRoom,
                                  .says = "requested model"}),
    [](const auto& row) { return row.param.name; });

TEST_F(BinderTest, TakesRoomWhoseReservationHasExpired) {
  const std::string uid = rig_.add_pod("p", {{"tangram.dev/gpu-count", "1"}});
  rig_.show("p");
  rig_.ledger.apply([](model::Ledger& ledger) {
    return ledger
        .reserve(testing::allocation("other", "a", {testing::granted("a-0", 81'920, 1000)}), 3s)
        .has_value();
  });
  ASSERT_EQ(rig_.bind("p", uid, "a").outcome, BindOutcome::kNoRoom);
  rig_.clock.advance(3s);
  EXPECT_EQ(rig_.bind("p", uid, "a").outcome, BindOutcome::kBound);
}

TEST_F(BinderTest, RefusesWhenTheNodeHasFilledUpMeanwhile) {
  for (const std::string pod : {"p1", "p2"}) {
    ASSERT_EQ(rig_.bind(pod, waiting_half(pod), "a").outcome, BindOutcome::kBound);
  }
  const std::string uid = waiting_half("p3");
  const std::string before = rig_.picture();
  const auto answer = rig_.bind("p3", uid, "a");
  EXPECT_EQ(answer.outcome, BindOutcome::kNoRoom);
  EXPECT_EQ(answer.error, "no GPU card has enough free memory and compute");
  EXPECT_EQ(rig_.picture(), before);
  EXPECT_EQ(rig_.bind("p3", uid, "b").outcome, BindOutcome::kBound);
}

TEST_F(BinderTest, RefusesAPodMadeAnewUnderTheName) {
  const std::string old_uid = rig_.add_half("p");
  rig_.remove_pod("p");
  rig_.add_half("p");
  const std::string before = rig_.picture();
  const auto answer = rig_.bind("p", old_uid, "a");
  EXPECT_EQ(answer.outcome, BindOutcome::kRefused);
  EXPECT_NE(answer.error.find("made anew"), std::string::npos) << answer.error;
  EXPECT_EQ(rig_.picture(), before);
  EXPECT_TRUE(rig_.api.calls(any_binding()).empty());
}

TEST_F(BinderTest, RefusesAPodThatIsGone) {
  const std::string uid = rig_.add_half("p");
  rig_.remove_pod("p");
  const auto answer = rig_.bind("p", uid, "a");
  EXPECT_EQ(answer.outcome, BindOutcome::kRefused);
  EXPECT_EQ(rig_.used("a"), kNothing);
}

TEST_F(BinderTest, SaysThatThePodCannotBeReadNow) {
  const std::string uid = rig_.add_half("p");
  rig_.api.will_answer(read_of("p"), 500);
  const auto answer = rig_.bind("p", uid, "a");
  EXPECT_EQ(answer.outcome, BindOutcome::kUnavailable);
  EXPECT_NE(answer.error.find("scripted 500"), std::string::npos) << answer.error;
  EXPECT_EQ(rig_.used("a"), kNothing);
  EXPECT_EQ(rig_.bind("p", uid, "a").outcome, BindOutcome::kBound);
}

// ---- What the API server may answer instead of 201.

struct ApiSaysNo {
  std::string name;
  Fault fault;
  BindOutcome outcome;
  std::string says;
};
void PrintTo(const ApiSaysNo& row, std::ostream* out) { *out << row.name; }

class ApiSaysNoTest : public BinderTest, public ::testing::WithParamInterface<ApiSaysNo> {};

TEST_P(ApiSaysNoTest, KeepsABookingOnlyInDoubtAndCanBindLater) {
  const std::string uid = waiting_half("p");
  const std::string before = rig_.picture();
  rig_.api.will(binding_of("p"), GetParam().fault);
  const auto answer = rig_.bind("p", uid, "a");
  EXPECT_EQ(rig_.api.faults_left(), 0U);
  EXPECT_EQ(answer.outcome, GetParam().outcome) << answer.error;
  EXPECT_NE(answer.error.find(GetParam().says), std::string::npos) << answer.error;
  const bool in_doubt = GetParam().outcome == BindOutcome::kUnknown;
  EXPECT_EQ(rig_.picture() != before, in_doubt);
  EXPECT_EQ(rig_.entry(uid).allocation != nullptr, in_doubt);
  EXPECT_TRUE(rig_.offers.refused(uid).contains("a"));
  EXPECT_EQ(rig_.bind("p", uid, "a").outcome, BindOutcome::kBound);
  EXPECT_TRUE(rig_.offers.refused(uid).empty());
}

INSTANTIATE_TEST_SUITE_P(
    Answers, ApiSaysNoTest,
    ::testing::Values(
        ApiSaysNo{"Gone", {Fault::Kind::kAnswer, 404}, BindOutcome::kRefused, "scripted 404"},
        ApiSaysNo{"Conflict", {Fault::Kind::kAnswer, 409}, BindOutcome::kRefused, "scripted 409"},
        ApiSaysNo{"Forbidden", {Fault::Kind::kAnswer, 403}, BindOutcome::kInvalid, "scripted 403"},
        ApiSaysNo{
            "TooManyRequests", {Fault::Kind::kAnswer, 429}, BindOutcome::kUnavailable, "Too many"},
        ApiSaysNo{"ConnectionRefused",
                  {Fault::Kind::kRefuseBefore, 0},
                  BindOutcome::kUnavailable,
                  "connection refused"},
        // These leave the outcome open; the pod, when read, is not bound.
        ApiSaysNo{
            "InternalError", {Fault::Kind::kAnswer, 500}, BindOutcome::kUnknown, "not known yet"},
        ApiSaysNo{
            "GatewayTimeout", {Fault::Kind::kAnswer, 504}, BindOutcome::kUnknown, "not known yet"},
        ApiSaysNo{
            "LostRequest", {Fault::Kind::kLoseBefore, 0}, BindOutcome::kUnknown, "not known yet"}),
    [](const auto& row) { return row.param.name; });

TEST_F(BinderTest, TakesAPodForBoundWhoseAnswerWasLost) {
  const std::string uid = waiting_half("p");
  rig_.api.will(binding_of("p"), Fault::Kind::kLoseAnswer);
  const auto answer = rig_.bind("p", uid, "a");
  EXPECT_EQ(answer.outcome, BindOutcome::kBound) << answer.error;
  EXPECT_EQ(reads("p"), 1U);
  EXPECT_EQ(rig_.entry(uid).phase, model::Phase::kConfirmed);
  EXPECT_EQ(rig_.used("a"), kHalf);
  EXPECT_TRUE(rig_.offers.refused(uid).empty());
}

TEST_F(BinderTest, TakesAPodWithoutCardsForBoundWhoseAnswerWasLost) {
  const std::string uid = rig_.add_pod("cpu", {});
  rig_.api.will(binding_of("cpu"), Fault::Kind::kLoseAnswer);
  EXPECT_EQ(rig_.bind("cpu", uid, "a").outcome, BindOutcome::kBound);
}

TEST_F(BinderTest, ReleasesAPodThatIsGoneAfterALostAnswer) {
  const std::string uid = waiting_half("p");
  rig_.api.will(binding_of("p"), Fault::Kind::kLoseBefore);
  rig_.api.will_answer(read_of("p"), 404);
  EXPECT_EQ(rig_.bind("p", uid, "a").outcome, BindOutcome::kRefused);
  EXPECT_EQ(rig_.used("a"), kNothing);
}

TEST_F(BinderTest, ReleasesWhenAnotherWriterBoundThePodThere) {
  const std::string uid = waiting_half("p");
  rig_.ask(testing::write_request(kube::Method::kPost, "/api/v1/namespaces/ml/pods/p/binding",
                                  testing::binding_json("p", uid, "a")));
  rig_.api.will(binding_of("p"), Fault::Kind::kLoseBefore);
  const auto answer = rig_.bind("p", uid, "a");
  EXPECT_EQ(answer.outcome, BindOutcome::kRefused);  // on the node, but without this grant
  EXPECT_EQ(rig_.used("a"), kNothing);
}

// ---- A bind's time is one for all its requests.

/// An API server that takes all the time that a request has. The answers to writes are lost.
class SlowApi final : public testing::PassingApi {
 public:
  SlowApi(kube::KubeApi& server, testing::ManualClock& clock) : PassingApi(server), clock_(clock) {}
  Result<kube::Response> call(const kube::Request& request) override {
    auto answer = PassingApi::call(request);
    clock_.advance(request.timeout);
    methods.push_back(request.method);
    if (request.method == kube::Method::kGet) return answer;
    return fail(Errc::kTimeout, "no answer in time");
  }
  std::vector<kube::Method> methods;

 private:
  testing::ManualClock& clock_;
};

TEST_F(BinderTest, EndsInTimeHoweverSlowTheApiServerIs) {
  const std::string uid = rig_.add_half("p");  // to be read first: the watch has not shown it
  SlowApi slow(rig_.server, rig_.clock);
  Binder binder = rig_.binder_at(slow);
  const TimePoint begin = rig_.clock.now();
  const auto answer =
      binder.bind({.ns = "ml", .name = "p", .uid = uid, .node = "a"}, rig_.in_time());
  EXPECT_EQ(answer.outcome, BindOutcome::kBound) << answer.error;
  EXPECT_EQ(slow.methods,
            (std::vector{kube::Method::kGet, kube::Method::kPost, kube::Method::kGet}));
  EXPECT_LE(rig_.clock.now() - begin, Rig::kBindTimeout);
}

TEST_F(BinderTest, SendsNothingWhenTooLittleTimeIsLeft) {
  const std::string uid = waiting_half("p");
  const std::string before = rig_.picture();
  for (const auto left : {0ms, 100ms}) {
    const auto answer = rig_.binder.bind({.ns = "ml", .name = "p", .uid = uid, .node = "a"},
                                         rig_.clock.now() + left);
    EXPECT_EQ(answer.outcome, BindOutcome::kUnavailable) << answer.error;
  }
  EXPECT_TRUE(rig_.api.calls().empty());
  EXPECT_EQ(rig_.picture(), before);
  EXPECT_TRUE(rig_.offers.refused(uid).empty()) << "the node is as good as before";
}

TEST_F(BinderTest, KeepsTheBookingWhenNoTimeIsLeftToReadTheOutcome) {
  const std::string uid = waiting_half("p");
  SlowApi slow(rig_.server, rig_.clock);
  Binder binder = rig_.binder_at(slow);
  const auto answer =
      binder.bind({.ns = "ml", .name = "p", .uid = uid, .node = "a"}, rig_.clock.now() + 200ms);
  EXPECT_EQ(answer.outcome, BindOutcome::kUnknown) << answer.error;
  EXPECT_EQ(slow.methods, std::vector{kube::Method::kPost});
  EXPECT_EQ(rig_.used("a"), kHalf);
}

// ---- Nothing is known: settled later.

TEST_F(BinderTest, KeepsTheBookingWhileNothingIsKnown) {
  const std::string uid = waiting_half("p");
  rig_.api.will(binding_of("p"), Fault::Kind::kLoseAnswer);
  rig_.api.will_answer(read_of("p"), 500);
  const auto answer = rig_.bind("p", uid, "a");
  EXPECT_EQ(answer.outcome, BindOutcome::kUnknown);
  EXPECT_NE(answer.error.find("not known yet"), std::string::npos) << answer.error;
  EXPECT_EQ(rig_.used("a"), kHalf);
  EXPECT_EQ(rig_.entry(uid).phase, model::Phase::kUnknown);
  EXPECT_EQ(rig_.bind("p", uid, "b").outcome, BindOutcome::kRefused);
  EXPECT_EQ(rig_.api.calls(any_binding()).size(), 1U);
}

TEST_F(BinderTest, SendsTheSameAgainWhileNothingIsKnown) {
  const std::string uid = waiting_half("p");
  rig_.api.will(binding_of("p"), Fault::Kind::kLoseBefore);
  ASSERT_EQ(rig_.bind("p", uid, "a").outcome, BindOutcome::kUnknown);
  EXPECT_EQ(rig_.used("a"), kHalf);  // the lost write may come through yet
  EXPECT_EQ(rig_.bind("p", uid, "a").outcome, BindOutcome::kBound);
  EXPECT_EQ(rig_.used("a"), kHalf);
  const auto sent = rig_.api.calls(any_binding());
  ASSERT_EQ(sent.size(), 2U);
  EXPECT_EQ(sent[0].body, sent[1].body);
}

TEST_F(BinderTest, TakesAConflictWithItsOwnEarlierBindForBound) {
  const std::string uid = waiting_half("p");
  rig_.api.will(binding_of("p"), Fault::Kind::kLoseAnswer);
  rig_.api.will_answer(read_of("p"), 500);
  ASSERT_EQ(rig_.bind("p", uid, "a").outcome, BindOutcome::kUnknown);
  EXPECT_EQ(rig_.bind("p", uid, "a").outcome, BindOutcome::kBound);  // 409, and it is ours
  EXPECT_EQ(rig_.entry(uid).phase, model::Phase::kConfirmed);
  EXPECT_EQ(rig_.used("a"), kHalf);
}

TEST_F(BinderTest, StaysInDoubtWhenASecondTryIsTurnedAway) {
  const std::string uid = waiting_half("p");
  rig_.api.will(binding_of("p"), Fault::Kind::kLoseBefore);
  ASSERT_EQ(rig_.bind("p", uid, "a").outcome, BindOutcome::kUnknown);
  rig_.api.will_answer(binding_of("p"), 429);
  EXPECT_EQ(rig_.bind("p", uid, "a").outcome, BindOutcome::kUnavailable);
  EXPECT_EQ(rig_.entry(uid).phase, model::Phase::kUnknown);  // the first may come through yet
  rig_.may_write = false;
  EXPECT_EQ(rig_.bind("p", uid, "a").outcome, BindOutcome::kUnavailable);
  EXPECT_EQ(rig_.entry(uid).phase, model::Phase::kUnknown);
  rig_.may_write = true;
  rig_.api.will_answer(binding_of("p"), 404);
  EXPECT_EQ(rig_.bind("p", uid, "a").outcome, BindOutcome::kRefused);
  EXPECT_EQ(rig_.used("a"), kNothing);
}

TEST_F(BinderTest, StaysInDoubtWhenAConflictCannotBeLookedInto) {
  const std::string uid = waiting_half("p");
  rig_.api.will(binding_of("p"), Fault::Kind::kLoseAnswer);
  for (int i = 0; i < 2; ++i) rig_.api.will_answer(read_of("p"), 500);
  ASSERT_EQ(rig_.bind("p", uid, "a").outcome, BindOutcome::kUnknown);
  EXPECT_EQ(rig_.bind("p", uid, "a").outcome, BindOutcome::kUnknown);
  EXPECT_EQ(rig_.used("a"), kHalf);
}

TEST_F(BinderTest, WritesNothingThatItsLeaseMightNotOutlive) {
  rig_.may_write = false;
  const std::string uid = waiting_half("p");
  EXPECT_EQ(rig_.bind("p", uid, "a").outcome, BindOutcome::kUnavailable);
  EXPECT_TRUE(rig_.api.calls(any_binding()).empty());
  EXPECT_EQ(rig_.used("a"), kNothing);
}

TEST_F(BinderTest, ConfirmsLaterWhatTurnsOutToBeBound) {
  const std::string uid = waiting_half("p");
  rig_.api.will(binding_of("p"), Fault::Kind::kLoseAnswer);
  rig_.api.will_answer(read_of("p"), 500);
  ASSERT_EQ(rig_.bind("p", uid, "a").outcome, BindOutcome::kUnknown);
  rig_.clock.advance(69'999ms);
  EXPECT_EQ(rig_.binder.resolve_overdue(), 0U);
  rig_.clock.advance(1ms);
  EXPECT_EQ(rig_.binder.resolve_overdue(), 1U);
  EXPECT_EQ(rig_.entry(uid).phase, model::Phase::kConfirmed);
  EXPECT_NE(rig_.entry(uid).issued_at, "") << "a write over the grant could not be repaired";
  EXPECT_EQ(rig_.used("a"), kHalf);
  EXPECT_EQ(rig_.bind("p", uid, "a").outcome, BindOutcome::kAlreadyBound);
}

TEST_F(BinderTest, ReadsThePodPastItsManagedFields) {
  const std::string uid = waiting_half("p");
  rig_.api.will(binding_of("p"), Fault::Kind::kLoseAnswer);
  rig_.api.will_answer(read_of("p"), 500);
  ASSERT_EQ(rig_.bind("p", uid, "a").outcome, BindOutcome::kUnknown);
  rig_.clock.advance(70s);
  testing::OddFieldsApi odd(rig_.api);
  Binder binder = rig_.binder_at(odd);
  EXPECT_EQ(binder.resolve_overdue(), 1U);
  EXPECT_EQ(rig_.entry(uid).phase, model::Phase::kConfirmed);
}

TEST_F(BinderTest, ReleasesLaterWhatTurnsOutNotToBeBound) {
  const std::string uid = waiting_half("p");
  rig_.api.will(binding_of("p"), Fault::Kind::kLoseBefore);
  rig_.api.will_answer(read_of("p"), 503);
  ASSERT_EQ(rig_.bind("p", uid, "a").outcome, BindOutcome::kUnknown);
  rig_.clock.advance(70s);
  EXPECT_EQ(rig_.binder.resolve_overdue(), 1U);
  EXPECT_EQ(rig_.entry(uid).allocation, nullptr);
  EXPECT_EQ(rig_.used("a"), kNothing);
  EXPECT_EQ(rig_.bind("p", uid, "b").outcome, BindOutcome::kBound);
}

TEST_F(BinderTest, AsksAgainAfterAnotherTtlWhileThePodCannotBeRead) {
  const std::string uid = waiting_half("p");
  rig_.api.will(binding_of("p"), Fault::Kind::kLoseAnswer);
  for (int i = 0; i < 2; ++i) rig_.api.will(read_of("p"), Fault::Kind::kRefuseBefore);
  ASSERT_EQ(rig_.bind("p", uid, "a").outcome, BindOutcome::kUnknown);
  rig_.clock.advance(70s);
  EXPECT_EQ(rig_.binder.resolve_overdue(), 1U);
  EXPECT_EQ(rig_.entry(uid).phase, model::Phase::kUnknown);
  EXPECT_EQ(rig_.binder.resolve_overdue(), 0U);
  rig_.clock.advance(70s);
  EXPECT_EQ(rig_.binder.resolve_overdue(), 1U);
  EXPECT_EQ(rig_.entry(uid).phase, model::Phase::kConfirmed);
}

TEST_F(BinderTest, ReleasesABoundPodThatVanishedBeforeTheWatchShowedIt) {
  const std::string uid = waiting_half("p");
  ASSERT_EQ(rig_.bind("p", uid, "a").outcome, BindOutcome::kBound);
  rig_.remove_pod("p");
  EXPECT_EQ(rig_.binder.resolve_overdue(), 0U);
  rig_.sync();  // a list that never had it: ended, or bound since
  EXPECT_EQ(rig_.used("a"), kHalf);
  EXPECT_EQ(rig_.binder.resolve_overdue(), 1U);
  EXPECT_EQ(rig_.used("a"), kNothing);
}

TEST_F(BinderTest, ReleasesAPodInDoubtThatEndedUnseen) {
  const std::string uid = waiting_half("p");
  rig_.api.will(binding_of("p"), Fault::Kind::kLoseBefore);
  rig_.api.will_answer(read_of("p"), 503);
  ASSERT_EQ(rig_.bind("p", uid, "a").outcome, BindOutcome::kUnknown);
  rig_.sync();  // it is there, and waits
  EXPECT_EQ(rig_.binder.resolve_overdue(), 0U) << "the write may come through yet";
  rig_.remove_pod("p");
  rig_.sync();
  EXPECT_EQ(rig_.used("a"), kHalf) << "a list may be older than the pod";
  EXPECT_EQ(rig_.binder.resolve_overdue(), 1U);
  EXPECT_EQ(rig_.used("a"), kNothing);
}

TEST_F(BinderTest, LeavesPodsAloneThatTheWatchHasShown) {
  const std::string uid = waiting_half("p");
  ASSERT_EQ(rig_.bind("p", uid, "a").outcome, BindOutcome::kBound);
  rig_.show("p");
  rig_.clock.advance(1h);
  EXPECT_EQ(rig_.binder.resolve_overdue(), 0U);
  EXPECT_EQ(reads("p"), 0U);
  EXPECT_EQ(rig_.used("a"), kHalf);
}

// ---- What the log says.

TEST_F(BinderTest, LogsOneLineForEachDecision) {
  testing::LogProbe log("pod ml/");
  const std::string uid = waiting_half("p");
  ASSERT_EQ(rig_.bind("p", uid, "a").outcome, BindOutcome::kBound);
  ASSERT_EQ(rig_.bind("p", uid, "a").outcome, BindOutcome::kAlreadyBound);
  const std::string large = rig_.add_pod("q", {{"tangram.dev/gpu-fraction", "0.6"}});
  rig_.show("q");
  ASSERT_EQ(rig_.bind("q", large, "a").outcome, BindOutcome::kNoRoom);
  EXPECT_EQ(log.lines(),
            (std::vector<std::string>{
                "pod ml/p bound to node a: a-0 (binpack, 0 ms)",
                "pod ml/q not bound to node a: no GPU card has enough free memory and compute "
                "(no_room, 0 ms)"}));
}

TEST_F(BinderTest, LogsSomeOfManyFailures) {
  testing::LogProbe log("pod ml/");
  const std::string uid = rig_.add_pod("p", {{"tangram.dev/gpu-fraction", "2"}});
  rig_.show("p");
  for (int i = 0; i < 1'000; ++i) rig_.bind("p", uid, "a");
  EXPECT_EQ(log.lines().size(), static_cast<std::size_t>(DecisionLog::kBurst));
  rig_.clock.advance(1s);
  rig_.bind("p", uid, "a");
  ASSERT_EQ(log.lines().size(), static_cast<std::size_t>(DecisionLog::kBurst) + 1);
  EXPECT_TRUE(log.lines().back().ends_with("; 800 lines before it were left out"))
      << log.lines().back();
}

}  // namespace
}  // namespace tangram::extender
