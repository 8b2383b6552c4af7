#include "kube/leader_election.hpp"

#include "kube/local/api.hpp"
#include "tests/testing/fault_api.hpp"
#include "tests/testing/kube_builders.hpp"
#include "tests/testing/manual_clock.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace tangram::kube {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::Fault;
using testing::FaultApi;
using testing::json_at;
using Lines = std::vector<std::string>;

constexpr const char* kLeases = "/apis/coordination.k8s.io/v1/namespaces/tangram/leases";
const std::string kLease = std::string(kLeases) + "/extender";
const testing::CallMatch kGets{Method::kGet, "/extender"};
const testing::CallMatch kPuts{Method::kPut, "/extender"};
const testing::CallMatch kPosts{Method::kPost, "/leases"};

/// An API server with a Lease that nobody holds, and a network for each candidate.
class LeaderElectionTest : public ::testing::Test {
 protected:
  LeaderElectionTest() {
    const auto made = server.call(testing::write_request(
        Method::kPost, kLeases, R"({"metadata":{"name":"extender"},"spec":{}})"));
    EXPECT_EQ(made->status, 201) << made->body;
  }
  void remove_lease() {
    ASSERT_EQ(server.call(testing::write_request(Method::kDelete, kLease, ""))->status, 200);
  }
  struct Candidate {
    /// Delays move the clock instead of waiting.
    Candidate(KubeApi& server, testing::ManualClock& time)
        : network(server, FaultApi::Record::kCalls,
                  [&time](milliseconds wait, const std::stop_token&) { time.advance(wait); }) {}
    FaultApi network;
    Lines told;
    bool finished = true;  ///< no write of its may take effect once it has stopped
    std::unique_ptr<LeaderElector> elector;

    bool leads() const { return elector->status().leading; }
  };
  std::unique_ptr<Candidate> candidate(const std::string& identity) {
    auto made = std::make_unique<Candidate>(server, clock);
    Lines& told = made->told;
    auto elector =
        LeaderElector::create({.ns = "tangram", .name = "extender", .identity = identity},
                              {.api = made->network, .clock = clock, .random = [] { return 0.5; }},
                              {[&told] { told.emplace_back("started"); },
                               [&told, &finished = made->finished] {
                                 told.emplace_back("stopped");
                                 return finished;
                               }});
    EXPECT_TRUE(elector.has_value()) << elector.error().message;
    made->elector = std::move(*elector);
    return made;
  }
  std::string lease(const std::string& member) {
    return json_at(server.call(testing::get_request(kLease))->body, member);
  }
  std::string holder() { return lease("spec.holderIdentity"); }
  /// Someone else's lease, renewed by a clock that may be far off.
  void write_lease(const std::string& who, const std::string& renew_time, int duration = 15) {
    const std::string text = R"({"metadata":{"name":"extender"},"spec":{"holderIdentity":")" + who +
                             R"(","leaseDurationSeconds":)" + std::to_string(duration) +
                             R"(,"leaseTransitions":3,)" + R"("acquireTime":")" + renew_time +
                             R"(","renewTime":")" + renew_time + R"("}})";
    if (server.call(testing::write_request(Method::kPut, kLease, text))->status == 200) return;
    const auto made = server.call(testing::write_request(Method::kPost, kLeases, text));
    ASSERT_EQ(made->status, 201) << made->body;
  }

  testing::ManualClock clock;
  LocalApi server{clock};
};

TEST_F(LeaderElectionTest, TakesALeaseThatNobodyHolds) {
  const auto a = candidate("a");
  EXPECT_EQ(a->elector->leads_until(), std::nullopt);
  EXPECT_EQ(a->elector->step(), milliseconds(2'000));
  EXPECT_TRUE(a->leads());
  EXPECT_EQ(a->told, Lines{"started"});
  EXPECT_EQ(holder(), "a");
  EXPECT_EQ(lease("spec.leaseDurationSeconds"), "15");
  EXPECT_EQ(lease("spec.leaseTransitions"), "1");
  EXPECT_EQ(lease("spec.acquireTime"), "2026-01-01T00:00:00.000000Z");
  EXPECT_EQ(a->elector->leads_until(), clock.now() + seconds(15));
  for (const Request& call : a->network.calls()) EXPECT_TRUE(call.urgent);
}

TEST_F(LeaderElectionTest, RenewsWithOneWriteAndKeepsTheTimeOfAcquisition) {
  const auto a = candidate("a");
  a->elector->step();
  for (int i = 0; i < 20; ++i) {
    clock.advance(seconds(2));
    a->elector->step();
  }
  EXPECT_EQ(a->told, Lines{"started"});
  EXPECT_EQ(lease("spec.acquireTime"), "2026-01-01T00:00:00.000000Z");
  EXPECT_EQ(lease("spec.renewTime"), "2026-01-01T00:00:40.000000Z");
  EXPECT_EQ(lease("spec.leaseTransitions"), "1");
  EXPECT_EQ(a->network.calls(kPuts).size(), 21U);
  EXPECT_EQ(a->network.calls(kGets).size(), 1U);
  EXPECT_EQ(a->elector->leads_until(), clock.now() + seconds(15));
}

TEST_F(LeaderElectionTest, LeavesWhatOthersWroteIntoTheLease) {
  const auto a = candidate("a");
  a->elector->step();
  auto label =
      testing::write_request(Method::kPatch, kLease, R"({"metadata":{"labels":{"owner":"ops"}}})");
  ASSERT_EQ(server.call(label)->status, 200);
  for (int i = 0; i < 3; ++i) a->elector->step();
  EXPECT_EQ(a->told, Lines{"started"}) << "it is still the holder";
  EXPECT_EQ(lease("metadata.labels"), R"({"owner":"ops"})");
}

TEST_F(LeaderElectionTest, RespectsAHolderThatRenews) {
  const auto a = candidate("a");
  const auto b = candidate("b");
  a->elector->step();
  for (int i = 0; i < 30; ++i) {
    EXPECT_EQ(b->elector->step(), milliseconds(750)) << "a quarter of 2 s, and half as much";
    clock.advance(seconds(2));
    a->elector->step();
  }
  EXPECT_TRUE(a->leads());
  EXPECT_FALSE(b->leads());
  EXPECT_EQ(b->elector->status().holder, "a");
  EXPECT_TRUE(b->network.calls(kPuts).empty());
}

TEST_F(LeaderElectionTest, TakesOverByItsOwnClockWhateverTheLeaseSays) {
  for (const char* lie : {"2001-01-01T00:00:00.000000Z", "2099-01-01T00:00:00.000000Z"}) {
    write_lease("z", lie);
    const auto a = candidate("a");
    a->elector->step();
    clock.advance(milliseconds(14'999));
    a->elector->step();
    EXPECT_FALSE(a->leads()) << lie;
    clock.advance(milliseconds(1));
    a->elector->step();
    EXPECT_TRUE(a->leads()) << lie;
    EXPECT_EQ(lease("spec.leaseTransitions"), "4");
    EXPECT_EQ(lease("spec.acquireTime"), rfc3339_micro(clock.wall()));
  }
}

TEST_F(LeaderElectionTest, WaitsAsLongAsTheHolderSaid) {
  write_lease("z", "2026-01-01T00:00:00.000000Z", 60);
  const auto a = candidate("a");
  a->elector->step();
  clock.advance(seconds(59));
  a->elector->step();
  EXPECT_FALSE(a->leads());
  clock.advance(seconds(1));
  a->elector->step();
  EXPECT_TRUE(a->leads());
}

TEST_F(LeaderElectionTest, TakesAtOnceWhatWasGivenBack) {
  const auto a = candidate("a");
  const auto b = candidate("b");
  a->elector->step();
  b->elector->step();
  a->elector->resign();
  EXPECT_EQ(a->told, (Lines{"started", "stopped"}));
  EXPECT_EQ(a->elector->leads_until(), std::nullopt);
  EXPECT_EQ(holder(), "");
  EXPECT_EQ(a->elector->status().holder, "");
  EXPECT_EQ(lease("spec.leaseDurationSeconds"), "1");
  b->elector->step();
  EXPECT_TRUE(b->leads());
  EXPECT_EQ(lease("spec.leaseTransitions"), "2");
}

TEST_F(LeaderElectionTest, ResigningDisturbsNobodyElse) {
  const auto a = candidate("a");
  a->elector->step();
  write_lease("z", "2026-01-01T00:00:00.000000Z");
  a->elector->resign();
  EXPECT_EQ(holder(), "z");
  EXPECT_EQ(a->told, (Lines{"started", "stopped"}));
  const auto b = candidate("b");
  b->elector->step();
  b->elector->resign();
  EXPECT_EQ(holder(), "z");
  EXPECT_EQ(b->told, Lines{});
}

TEST_F(LeaderElectionTest, StopsAtAConflict) {
  const auto a = candidate("a");
  a->elector->step();
  write_lease("z", "2026-01-01T00:00:00.000000Z");
  clock.advance(seconds(2));
  a->elector->step();
  EXPECT_FALSE(a->leads());
  EXPECT_FALSE(a->elector->leads_past(clock.now()));
  EXPECT_EQ(a->told, (Lines{"started", "stopped"}));
  clock.advance(seconds(2));
  a->elector->step();
  EXPECT_EQ(holder(), "z") << "it has just been renewed";
}

// ---- A Lease that is not there.

TEST_F(LeaderElectionTest, MakesALeaseWhenNobodyCanLeadWithoutOne) {
  remove_lease();
  const auto a = candidate("a");
  EXPECT_EQ(a->elector->step(), milliseconds(750));
  for (int i = 0; i < 14; ++i) {
    clock.advance(seconds(1));
    a->elector->step();
  }
  clock.advance(milliseconds(600));
  EXPECT_EQ(a->elector->step(), milliseconds(400)) << "not later than it can lead";
  EXPECT_FALSE(a->leads());
  EXPECT_TRUE(a->network.calls(kPosts).empty());
  clock.advance(milliseconds(400));
  a->elector->step();
  EXPECT_TRUE(a->leads());
  EXPECT_EQ(holder(), "a");
  EXPECT_EQ(lease("spec.leaseTransitions"), "0");
  EXPECT_EQ(a->elector->leads_until(), clock.now() + seconds(15));
}

TEST_F(LeaderElectionTest, WaitsOutTheHolderOfALeaseThatWasDeleted) {
  for (const int duration : {15, 40}) {
    remove_lease();
    write_lease("z", rfc3339_micro(clock.wall()), duration);
    const auto b = candidate("b");
    b->elector->step();
    remove_lease();
    const TimePoint gone = clock.now();
    b->network.will_answer(kGets, 500);  // says nothing either way
    while (clock.now() < gone + seconds(duration) - milliseconds(1)) {
      b->elector->step();
      ASSERT_FALSE(b->leads());
      clock.advance(std::min(milliseconds(500), std::chrono::duration_cast<milliseconds>(
                                                    gone + seconds(duration) - clock.now())));
    }
    clock.advance(milliseconds(1));
    clock.advance(milliseconds(500));  // for the look that failed
    b->elector->step();
    EXPECT_TRUE(b->leads()) << duration;
    b->elector->resign();
    clock.advance(seconds(60));
  }
}

/// Deleted twice, with a holder in between that this one has not seen.
TEST_F(LeaderElectionTest, WaitsAnewIfItWasHeldUpWhileThereWasNoLease) {
  const auto b = candidate("b");
  remove_lease();
  b->elector->step();
  clock.advance(seconds(14));
  write_lease("z", rfc3339_micro(clock.wall()), 15);
  remove_lease();
  clock.advance(seconds(2));
  b->elector->step();
  EXPECT_FALSE(b->leads()) << "z leads for 13 s more";
}

TEST_F(LeaderElectionTest, TheHolderMakesADeletedLeaseAgain) {
  const auto a = candidate("a");
  const auto b = candidate("b");
  a->elector->step();
  for (int i = 0; i < 40; ++i) {
    if (i == 10) remove_lease();
    clock.advance(seconds(1));
    a->elector->step();
    b->elector->step();
    EXPECT_TRUE(a->elector->leads_past(clock.now()));
    EXPECT_FALSE(b->elector->leads_past(clock.now()));
  }
  EXPECT_EQ(a->told, Lines{"started"});
  EXPECT_EQ(holder(), "a");
  EXPECT_EQ(lease("spec.acquireTime"), "2026-01-01T00:00:00.000000Z");
  EXPECT_EQ(a->network.calls(kPosts).size(), 1U);
}

TEST_F(LeaderElectionTest, TheHolderStopsWhereAnotherOneMadeTheLease) {
  const auto a = candidate("a");
  a->elector->step();
  remove_lease();
  a->network.will(kPosts, Fault::Kind::kLoseBefore);
  a->elector->step();
  EXPECT_TRUE(a->leads());
  a->network.will_answer(kGets, 404);  // made between the two
  write_lease("z", "2026-01-01T00:00:00.000000Z");
  a->elector->step();
  EXPECT_FALSE(a->leads());
  EXPECT_EQ(a->told, (Lines{"started", "stopped"}));
}

TEST_F(LeaderElectionTest, WaitsOutTheHolderOfALeaseThatWasReplaced) {
  const auto a = candidate("a");
  const auto b = candidate("b");
  a->elector->step();
  b->elector->step();
  a->network.plan().set(*testing::parse_faults("rules: [{fault: refuse}]"));
  remove_lease();
  write_lease("", "2026-01-01T00:00:00.000000Z");  // as from a backup
  for (int i = 0; i < 15; ++i) {
    b->elector->step();
    EXPECT_FALSE(b->leads());
    clock.advance(seconds(1));
  }
  EXPECT_FALSE(a->elector->leads_past(clock.now()));
  b->elector->step();
  EXPECT_TRUE(b->leads());
}

TEST_F(LeaderElectionTest, StopsWhenItCannotRenewInTimeBeforeTheLeaseIsFree) {
  const auto a = candidate("a");
  const auto b = candidate("b");
  a->elector->step();
  b->elector->step();
  a->network.plan().set(*testing::parse_faults("rules: [{fault: refuse}]"));
  const TimePoint renewed = clock.now();
  while (a->leads()) {
    ASSERT_LT(clock.now(), renewed + seconds(10));
    clock.advance(a->elector->step());
    if (clock.now() >= renewed + seconds(10)) a->elector->step();
  }
  EXPECT_EQ(clock.now(), renewed + seconds(10));
  EXPECT_EQ(a->elector->leads_until(), std::nullopt);
  b->elector->step();
  EXPECT_FALSE(b->leads()) << "the lease is not free yet";
  clock.advance(seconds(5));
  b->elector->step();
  EXPECT_TRUE(b->leads());
}

TEST_F(LeaderElectionTest, LeaderHasNoMoreTimeForARequestThanToRenew) {
  const auto a = candidate("a");
  a->elector->step();
  a->network.plan().set(*testing::parse_faults("rules: [{fault: lose-before}]"));
  a->elector->step();
  EXPECT_EQ(a->network.calls().back().timeout, seconds(5));
  clock.advance(milliseconds(9'700));
  EXPECT_EQ(a->elector->step(), milliseconds(300));
  EXPECT_EQ(a->network.calls().back().timeout, milliseconds(300));
}

TEST_F(LeaderElectionTest, UnknownOutcomeCountsForNothingAndIsLookedInto) {
  const auto a = candidate("a");
  a->elector->step();
  const auto until = a->elector->leads_until();
  for (const Fault::Kind kind : {Fault::Kind::kLoseAnswer, Fault::Kind::kLoseBefore}) {
    a->network.will(kPuts, kind);
    clock.advance(seconds(2));
    a->elector->step();
    EXPECT_TRUE(a->leads());
    EXPECT_EQ(a->elector->leads_until(), until);
  }
  const std::size_t reads = a->network.calls(kGets).size();
  clock.advance(seconds(2));
  a->elector->step();
  EXPECT_EQ(a->network.calls(kGets).size(), reads + 1);
  EXPECT_EQ(a->elector->leads_until(), clock.now() + seconds(15));
  EXPECT_EQ(a->told, Lines{"started"});
}

TEST_F(LeaderElectionTest, UnknownTakeOverIsRenewedBeforeItCounts) {
  const auto a = candidate("a");
  a->network.will(kPuts, Fault::Kind::kLoseAnswer);
  a->elector->step();
  EXPECT_FALSE(a->leads());
  EXPECT_EQ(holder(), "a");
  clock.advance(seconds(3));
  a->elector->step();
  EXPECT_TRUE(a->leads());
  EXPECT_EQ(a->elector->leads_until(), clock.now() + seconds(15));
  EXPECT_EQ(lease("spec.leaseTransitions"), "1");
}

TEST_F(LeaderElectionTest, ServerErrorsAreLookedInto) {
  const auto a = candidate("a");
  a->elector->step();
  for (const int status : {500, 503, 429}) a->network.will_answer(kPuts, status);
  for (int i = 0; i < 3; ++i) {
    clock.advance(seconds(2));
    a->elector->step();
  }
  a->network.will_answer(kGets, 500);
  a->elector->step();
  EXPECT_TRUE(a->leads());
  a->elector->step();
  EXPECT_EQ(a->elector->leads_until(), clock.now() + seconds(15));
  EXPECT_EQ(a->network.faults_left(), 0U);
}

TEST_F(LeaderElectionTest, LeadsPastOnlyWhatTheLeaseOutlives) {
  const auto a = candidate("a");
  EXPECT_FALSE(a->elector->leads_past(clock.now()));
  a->elector->step();
  const TimePoint end = clock.now() + seconds(15);
  EXPECT_TRUE(a->elector->leads_past(end - milliseconds(1)));
  EXPECT_FALSE(a->elector->leads_past(end));
}

TEST_F(LeaderElectionTest, CountsFromBeforeItAsked) {
  const auto a = candidate("a");
  for (int i = 0; i < 2; ++i) {  // takes over, and renews
    a->network.will(kPuts, {.kind = Fault::Kind::kDelayAnswer, .delay = seconds(4)});
    const TimePoint sent = clock.now();
    a->elector->step();
    EXPECT_EQ(clock.now(), sent + seconds(4));
    EXPECT_EQ(a->elector->leads_until(), sent + seconds(15));
  }
}

TEST_F(LeaderElectionTest, DoesNotBeginWithALeaseThatIsOldAlready) {
  const auto a = candidate("a");
  a->network.will(kPuts, {.kind = Fault::Kind::kDelayAnswer, .delay = seconds(10)});
  a->elector->step();
  EXPECT_EQ(holder(), "a");
  EXPECT_FALSE(a->leads());
  EXPECT_EQ(a->elector->leads_until(), std::nullopt);
  a->elector->step();
  EXPECT_TRUE(a->leads());
  // Nor does it go on with one.
  a->network.will(kPuts, {.kind = Fault::Kind::kDelayAnswer, .delay = seconds(10)});
  a->elector->step();
  EXPECT_EQ(a->told, (Lines{"started", "stopped"}));
}

TEST_F(LeaderElectionTest, IgnoresALeaseThatItCannotRead) {
  const auto a = candidate("a");
  a->network.will_answer(kGets, 200);  // a Status, and no Lease: it has no holder
  a->network.will_answer(kGets, 403);
  for (int i = 0; i < 2; ++i) a->elector->step();
  EXPECT_FALSE(a->leads());
  a->elector->step();
  EXPECT_TRUE(a->leads());
}

TEST_F(LeaderElectionTest, RunsUntilStoppedAndThenResigns) {
  FaultApi network(server);
  std::stop_source stop;
  int sleeps = 0;
  Lines told;
  auto elector =
      *LeaderElector::create({.ns = "tangram", .name = "extender", .identity = "a"},
                             {.api = network,
                              .clock = clock,
                              .random = [] { return 0.0; },
                              .sleeper =
                                  [&](milliseconds wait, const std::stop_token&) {
                                    clock.advance(wait);
                                    if (++sleeps == 5) stop.request_stop();
                                  }},
                             {[&] { told.emplace_back("started"); },
                              [&] {
                                told.emplace_back("stopped while " + holder() + " holds it");
                                return true;
                              }});
  elector->run(stop.get_token());
  EXPECT_EQ(told, (Lines{"started", "stopped while a holds it"}));
  EXPECT_EQ(holder(), "");
  EXPECT_EQ(network.calls(kPuts).size(), 6U) << "five and the release";
}

TEST_F(LeaderElectionTest, GivesTheLeaseBackWithOneShortWrite) {
  const auto a = candidate("a");
  a->elector->step();
  const auto before = a->network.calls().size();
  a->elector->resign();
  EXPECT_EQ(holder(), "");
  const auto calls = a->network.calls();
  ASSERT_EQ(calls.size(), before + 1);
  EXPECT_EQ(calls.back().method, Method::kPut);
  EXPECT_LE(calls.back().timeout, milliseconds(2'000));
}

TEST_F(LeaderElectionTest, LeavesTheLeaseToExpireWhileAWriteMayTakeEffect) {
  const auto a = candidate("a");
  const auto b = candidate("b");
  a->elector->step();
  b->elector->step();
  a->finished = false;
  a->elector->resign();
  EXPECT_EQ(a->told, (Lines{"started", "stopped"}));
  EXPECT_EQ(a->elector->leads_until(), std::nullopt);
  EXPECT_EQ(holder(), "a");
  clock.advance(seconds(14));
  b->elector->step();
  EXPECT_FALSE(b->leads());
  clock.advance(seconds(1));
  b->elector->step();
  EXPECT_TRUE(b->leads());
}

TEST_F(LeaderElectionTest, GivesBackWhatSomeoneElseHasTouched) {
  const auto a = candidate("a");
  a->elector->step();
  auto label =
      testing::write_request(Method::kPatch, kLease, R"({"metadata":{"labels":{"owner":"ops"}}})");
  ASSERT_EQ(server.call(label)->status, 200);
  const auto before = a->network.calls().size();
  a->elector->resign();
  EXPECT_EQ(holder(), "");
  const auto calls = a->network.calls();
  for (std::size_t i = before; i < calls.size(); ++i) {
    EXPECT_LE(calls[i].timeout, milliseconds(2'000));
  }
}

TEST_F(LeaderElectionTest, RefusesSettingsThatCannotWork) {
  const LeaderSettings good{.ns = "n", .name = "l", .identity = "i"};
  const auto refuses = [&](const auto& spoil) {
    LeaderSettings settings = good;
    spoil(settings);
    const auto made = LeaderElector::create(
        settings, {.api = server, .clock = clock, .random = [] { return 0.0; }}, {});
    return !made && made.error().code == Errc::kInvalidArgument;
  };
  EXPECT_FALSE(refuses([](LeaderSettings&) {}));
  EXPECT_TRUE(refuses([](LeaderSettings& s) { s.identity.clear(); }));
  EXPECT_TRUE(refuses([](LeaderSettings& s) { s.lease_duration = seconds(10); }));
  EXPECT_TRUE(refuses([](LeaderSettings& s) { s.retry_period = seconds(9); }));
  EXPECT_TRUE(refuses([](LeaderSettings& s) { s.retry_period = seconds(0); }));
}

}  // namespace
}  // namespace tangram::kube
