#include "node/container/claims.hpp"

#include "tests/node/container/start_fakes.hpp"
#include "tests/testing/temp_folder.hpp"

#include <gtest/gtest.h>

namespace tangram::node {
namespace {

using model::Isolation;

CardClaim admitted(const std::string& allocation, model::GrantedCard part) {
  CardClaim claim;
  claim.isolation = Isolation::kMps;
  claim.admitted = true;
  claim.container = {"main", {std::move(part)}};
  claim.allocations = {allocation};
  return claim;
}

CardsInMode shared_by_mps(const std::vector<CardClaim>& claims) {
  return shared_cards(claims).at(static_cast<std::size_t>(Isolation::kMps));
}

TEST(SharedCardsTest, HaveTheLargestLimitsOfTheirContainers) {
  model::GrantedCard burst = part("GPU-1", 1024, 500);
  burst.memory_limit = Mebibytes(8192);
  const CardsInMode shared =
      shared_by_mps({admitted("a", burst), admitted("b", part("GPU-1", 4096, 600)),
                     admitted("c", part("GPU-2", 7, 8))});
  EXPECT_EQ(
      shared,
      (CardsInMode{
          {"GPU-1",
           {{Mebibytes(8192), MilliGpu(600)}, {{"a", MilliGpu(500)}, {"b", MilliGpu(600)}}, ""}},
          {"GPU-2", {{Mebibytes(7), MilliGpu(8)}, {{"c", MilliGpu(8)}}, ""}}}));
}

TEST(SharedCardsTest, LeaveOutWhoSharesNothingOrWasNotAdmitted) {
  CardClaim whole = admitted("a", part("GPU-1", 8192, 1000));
  whole.whole = true;
  CardClaim waiting = admitted("b", part("GPU-2", 8192, 500));
  waiting.admitted = false;
  EXPECT_EQ(shared_by_mps({whole, waiting}), CardsInMode());
}

TEST(CardClaimsTest, AContainerHasAllItsAllocations) {
  const testing::TempFolder folder;
  auto journal = Journal::open(folder.path());
  ASSERT_TRUE(journal);
  const model::Grant grant{.pod_uid = "u",
                           .node = "n1",
                           .issued_at = "2026-01-01T00:00:00Z",
                           .isolation = Isolation::kMps,
                           .containers = {{"main", {part("GPU-1", 10, 100)}}},
                           .signature = {}};
  for (const char* name : {"slot-1.a", "slot-2.b"}) {
    JournalEntry entry{.name = name, .slots = {}, .allocated_at = "", .claim = Claim()};
    entry.claim->pod_uid = "u";
    entry.claim->container = "main";
    entry.claim->grant = encode(grant);
    ASSERT_TRUE(journal->put(entry));
  }
  FakePods pods;
  pods.reachable(false, false);
  const auto claims = card_claims(pods, *journal, FakeProcesses());
  ASSERT_EQ(claims.size(), 1U);
  EXPECT_EQ(claims[0].allocations, (std::vector<std::string>{"slot-1.a", "slot-2.b"}));
}

TEST(CardClaimsTest, WhileItsAllocationsAreResizedAContainerHasTheLargerAmounts) {
  const testing::TempFolder folder;
  auto journal = Journal::open(folder.path());
  ASSERT_TRUE(journal);
  int revision = 1;
  for (const auto& card : {part("GPU-1", 10, 200), part("GPU-1", 20, 100)}) {
    model::Grant grant;
    grant.pod_uid = "u";
    grant.node = "n1";
    grant.issued_at = "2026-01-01T00:00:00Z";
    grant.revision = revision;
    grant.containers = {{"main", {card}}};
    JournalEntry entry{.name = "slot-" + std::to_string(revision),
                       .slots = {},
                       .allocated_at = "",
                       .claim = Claim()};
    entry.claim->pod_uid = "u";
    entry.claim->container = "main";
    entry.claim->grant = encode(grant);
    ASSERT_TRUE(journal->put(entry));
    --revision;
  }
  FakePods pods;
  pods.reachable(false, false);
  const auto claims = card_claims(pods, *journal, FakeProcesses());
  ASSERT_EQ(claims.size(), 1U);
  EXPECT_EQ(claims[0].container.cards.at(0), part("GPU-1", 20, 200));
}

TEST(ClaimsOfPresentTest, LeaveOutPodsThatAreGone) {
  const testing::TempFolder folder;
  auto journal = Journal::open(folder.path());
  ASSERT_TRUE(journal);
  const model::Grant grant{
      .pod_uid = "u",
      .node = "n1",
      .issued_at = "2026-01-01T00:00:00Z",
      .isolation = Isolation::kMps,
      .containers = {{"main", {part("GPU-1", 10, 100)}}, {"not-started", {part("GPU-1", 10, 100)}}},
      .signature = {}};
  const Claim noted{.pod_uid = "u",
                    .ns = "ml",
                    .pod = "a",
                    .container = "main",
                    .grant = encode(grant),
                    .spec = ""};
  ASSERT_TRUE(journal->put({.name = "slot-1.a", .slots = {}, .allocated_at = "", .claim = noted}));
  FakePods pods;
  pods.reachable(false, false);
  const auto claims = claims_of_present(pods, *journal);
  ASSERT_EQ(claims.size(), 1U) << "the pods are not known yet";
  EXPECT_EQ(claims[0].container.container, "main");
  EXPECT_EQ(claims[0].ns + "/" + claims[0].pod, "ml/a");
  EXPECT_TRUE(claims[0].admitted);
  pods.reachable(true, true);
  EXPECT_TRUE(claims_of_present(pods, *journal).empty()) << "the pod is gone";
}

}  // namespace
}  // namespace tangram::node
