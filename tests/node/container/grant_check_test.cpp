#include "node/container/grant_check.hpp"

#include "tests/testing/builders.hpp"

#include <gtest/gtest.h>

namespace tangram::node {
namespace {

using model::Isolation;

model::GrantedCard part(const std::string& card, std::int64_t mib, std::int64_t milli) {
  return {card, Mebibytes(mib), MilliGpu(milli), Mebibytes(mib), MilliGpu(milli)};
}

class GrantCheckTest : public ::testing::Test {
 protected:
  GrantCheckTest() {
    pod.pod.uid = "uid-p";
    pod.pod.ns = "ml";
    pod.pod.name = "p";
    pod.pod.containers = {{.name = "main", .slots = 1},
                          {.name = "setup", .slots = 1, .ordinary_init = true}};
    grant(part("GPU-1", 40'960, 500));
  }
  void grant(const model::GrantedCard& card, const std::string& issued = "2026-01-02T00:00:00Z") {
    pod.grant = model::Grant{.pod_uid = "uid-p",
                             .node = "n1",
                             .issued_at = issued,
                             .isolation = Isolation::kMps,
                             .containers = {{"main", {card}}},
                             .signature = {}};
    pod.grant_text = encode(*pod.grant);
  }
  static CardClaim other(const model::GrantedCard& card, const std::string& uid = "uid-o",
                         const std::string& issued = "2026-01-01T00:00:00Z") {
    return {.pod_uid = uid,
            .issued_at = issued,
            .isolation = Isolation::kMps,
            .container = {"main", {card}}};
  }
  /// "" = may start; "!…" = never; otherwise not now.
  std::string verdict(bool ran_before = false, std::string_view container = "main",
                      bool by_variable = false, bool watch_lags = false) {
    const auto granted = check_grant({.pod = pod,
                                      .container = container,
                                      .admitted = ran_before,
                                      .ran = ran_before,
                                      .watch_lags = watch_lags,
                                      .name_variable = by_variable ? "ACME_DEVICES" : ""},
                                     cards, others, orphaned);
    if (granted) return granted->container == container ? "" : "another container's grant";
    return (granted.error().code == Errc::kInvalidArgument ? "!" : "") + granted.error().message;
  }
  static bool says(const std::string& verdict, const std::string& words) {
    return verdict.find(words) != std::string::npos;
  }

  LocalPod pod;
  std::vector<model::Card> cards{testing::card("GPU-1"), testing::card("GPU-2")};
  std::vector<CardClaim> others;
  std::vector<OrphanedMemory> orphaned;
};

TEST_F(GrantCheckTest, AGoodGrantIsHonoured) { EXPECT_EQ(verdict(), ""); }

TEST_F(GrantCheckTest, NobodyJoinsAWholeCardThatGrew) {
  model::GrantedCard alone = part("GPU-1", cards[0].memory.count() - 64, 1000);
  grant(part("GPU-1", 32, 0));
  others = {other(alone)};
  EXPECT_EQ(verdict(), "");
  alone.whole = true;
  others = {other(alone)};
  EXPECT_TRUE(says(verdict(), "has no room for this pod")) << verdict();
  // Nor does the whole one join who came first.
  grant(alone);
  others = {other(part("GPU-1", 32, 0))};
  EXPECT_TRUE(says(verdict(), "has no room for this pod")) << verdict();
}

TEST_F(GrantCheckTest, NoGrantIsExplained) {
  pod.grant.reset();
  pod.grant_text.clear();
  EXPECT_TRUE(says(verdict(), "!the pod has a slot but no grant")) << verdict();
}

TEST_F(GrantCheckTest, AGrantOfAnotherPodIsRefused) {
  pod.grant->pod_uid = "uid-x";
  pod.grant_text = encode(*pod.grant);
  read_pod_grant(pod, "n1", model::signatures_not_checked());
  EXPECT_TRUE(says(verdict(), "!the annotation tangram.dev/gpu-grant was issued to another pod"));
}

TEST_F(GrantCheckTest, AGrantForAnotherNodeIsRefused) {
  read_pod_grant(pod, "n2", model::signatures_not_checked());
  EXPECT_TRUE(says(verdict(), "was issued for another node, \"n1\"")) << verdict();
}

TEST_F(GrantCheckTest, AGrantThatCannotBeReadIsRefused) {
  pod.grant_text = "{";
  read_pod_grant(pod, "n1", model::signatures_not_checked());
  EXPECT_TRUE(says(verdict(), "!the annotation tangram.dev/gpu-grant is not valid")) << verdict();
}

TEST_F(GrantCheckTest, AContainerWithoutAPartGetsAnInstruction) {
  EXPECT_TRUE(says(verdict(false, "sidecar"), "tangram.dev/gpu-fraction.sidecar"));
  EXPECT_TRUE(says(verdict(false, "setup"), "an init container, which cannot have a card"));
}

TEST_F(GrantCheckTest, TheCardMustBeHereAndLargeEnough) {
  cards.erase(cards.begin());
  EXPECT_TRUE(says(verdict(), "!card GPU-1 is not on this node any more"));
  cards.insert(cards.begin(), testing::card("GPU-1", "A100", Mebibytes(40'959)));
  EXPECT_TRUE(says(verdict(), "!card GPU-1 has become smaller"));
}

TEST_F(GrantCheckTest, ContainersWaitForAnUnhealthyCardIfTheyHaveRunThere) {
  cards[0].healthy = false;
  cards[0].unavailable_reason = "it reported an error";
  EXPECT_TRUE(says(verdict(), "!card GPU-1 is unhealthy: it reported an error"));
  EXPECT_TRUE(says(verdict(true),
                   "card GPU-1 is unhealthy: it reported an error; the container "
                   "starts again once the card is healthy"))
      << verdict(true);
  cards[0].healthy = true;
  EXPECT_EQ(verdict(true), "");
}

TEST_F(GrantCheckTest, ACordonedCardKeepsWhatWasGranted) {
  cards[0].cordoned = true;
  EXPECT_EQ(verdict(), "");
}

TEST_F(GrantCheckTest, TheModeMustBePossible) {
  cards[0].isolation = {Isolation::kTimeSlice};
  EXPECT_TRUE(says(verdict(), "!card GPU-1 cannot be shared in mode mps"));
  grant(part("GPU-1", 81'920, 1000));
  EXPECT_EQ(verdict(), "") << "a whole card is not shared";
}

TEST_F(GrantCheckTest, MemoryIsLimitedAsStronglyAsTheGrantPromises) {
  using model::MemoryLimits;
  model::GrantedCard promised = part("GPU-1", 40'960, 500);
  promised.memory_limits = MemoryLimits::kLibrary;
  grant(promised);
  const std::string what_to_do =
      "; set up library on the node again (docs/node.md, \"Memory limits\"), or delete the pod and "
      "create it again";
  const std::string none =
      "!the grant promises memory limits by library, and card GPU-1 has none any more" + what_to_do;
  EXPECT_EQ(verdict(), none);
  EXPECT_EQ(verdict(true), none) << "also if it ran before";
  cards[0].memory_limits = MemoryLimits::kMps;
  EXPECT_EQ(verdict(), "!the grant promises memory limits by library, and card GPU-1 has only mps" +
                           what_to_do);
  cards[0].memory_limits = MemoryLimits::kLibrary;
  EXPECT_EQ(verdict(), "");
  cards[0].memory_limits = MemoryLimits::kDriver;
  EXPECT_EQ(verdict(), "") << "a stronger one";
}

TEST_F(GrantCheckTest, MpsLimitsMemoryInItsOwnModeOnly) {
  model::GrantedCard promised = part("GPU-1", 40'960, 500);
  promised.memory_limits = model::MemoryLimits::kMps;
  grant(promised);
  cards[0].memory_limits = model::MemoryLimits::kMps;
  EXPECT_EQ(verdict(), "");
  pod.grant->isolation = Isolation::kTimeSlice;
  EXPECT_TRUE(says(verdict(), "!the grant promises memory limits by mps")) << verdict();
}

TEST_F(GrantCheckTest, SharesThatFillTheCardExactlyAllStart) {
  others = {other(part("GPU-1", 40'960, 500)), other(part("GPU-2", 81'920, 1000))};
  EXPECT_EQ(verdict(), "");
}

TEST_F(GrantCheckTest, OfTwoForTheSameRoomTheLaterIsRefused) {
  others = {other(part("GPU-1", 40'961, 100))};
  EXPECT_TRUE(says(verdict(), "!card GPU-1 has no room for this pod beside earlier grants"));
  others = {other(part("GPU-1", 10, 501))};
  EXPECT_TRUE(says(verdict(), "has no room for this pod"));
  grant(part("GPU-1", 40'960, 500), "2025-12-31T00:00:00Z");
  EXPECT_EQ(verdict(), "") << "now the other one is the later";
  others[0].admitted = true;
  EXPECT_TRUE(says(verdict(), "beside earlier grants")) << "what was admitted, stays";
}

TEST_F(GrantCheckTest, WhatWasAdmittedStartsAgainWhateverBecameOfItsCard) {
  others = {other(part("GPU-1", 40'960, 500))};
  others[0].admitted = true;
  cards[0].memory = Mebibytes(81'919);  // another driver reserves a little more
  cards[0].max_sharers = 1;
  cards[0].isolation = {Isolation::kTimeSlice};
  EXPECT_NE(verdict(), "");
  EXPECT_EQ(verdict(true), "");
}

TEST_F(GrantCheckTest, RoomThatAPodIsAboutToLeaveIsWaitedFor) {
  others = {other(part("GPU-1", 81'920, 1000))};
  others[0].ending = others[0].admitted = true;
  EXPECT_TRUE(says(verdict(), "card GPU-1 is still used by a pod that is gone"));
  EXPECT_FALSE(verdict().starts_with("!"));
  others[0].ending = false;
  EXPECT_TRUE(verdict().starts_with("!"));
  EXPECT_FALSE(verdict(false, "main", false, true).starts_with("!"))
      << "a watch that lags may still show a pod that is gone";
}

TEST_F(GrantCheckTest, EqualTimesAreOrderedByUid) {
  const auto same_time = pod.grant->issued_at;
  others = {other(part("GPU-1", 81'920, 1000), "uid-a", same_time)};
  EXPECT_NE(verdict(), "");
  others = {other(part("GPU-1", 81'920, 1000), "uid-z", same_time)};
  EXPECT_EQ(verdict(), "");
}

TEST_F(GrantCheckTest, ThePodsOwnContainersMustFitTogether) {
  others = {other(part("GPU-1", 40'961, 0), "uid-p", pod.grant->issued_at)};
  EXPECT_NE(verdict(), "");
}

TEST_F(GrantCheckTest, AnotherModeOnTheCardIsRefused) {
  others = {other(part("GPU-1", 10, 10))};
  others[0].isolation = Isolation::kTimeSlice;
  EXPECT_TRUE(says(verdict(), "!card GPU-1 is shared in another isolation mode than mps"));
}

TEST_F(GrantCheckTest, NoMoreSharersThanTheCardTakes) {
  cards[0].max_sharers = 2;
  others = {other(part("GPU-1", 1, 0), "uid-a")};
  EXPECT_EQ(verdict(), "");
  others.push_back(other(part("GPU-1", 1, 0), "uid-b"));
  EXPECT_NE(verdict(), "");
}

TEST_F(GrantCheckTest, WaitsForMemoryOfAPodThatWasDeletedByForce) {
  others = {other(part("GPU-1", 20'480, 100))};
  orphaned = {{"GPU-1", "uid-gone", std::uint64_t{20'480} << 20U}};
  EXPECT_EQ(verdict(), "") << "there is room for both";
  ++orphaned[0].bytes;
  EXPECT_TRUE(says(verdict(), "card GPU-1 still holds memory of a pod that was deleted by force"));
  EXPECT_TRUE(says(verdict(), "uid-gone"));
  orphaned[0].card = "GPU-2";
  EXPECT_EQ(verdict(), "");
}

TEST_F(GrantCheckTest, WhereTheEnvironmentDecidesThePodsOwnIsRefused) {
  pod.choose_devices = {"main"};
  EXPECT_EQ(verdict(false, "main", false), "");
  EXPECT_TRUE(says(verdict(false, "main", true), "sets ACME_DEVICES itself"));
}

TEST_F(GrantCheckTest, SaysThatTheWebhooksVariableCannotWorkHere) {
  pod.choose_devices = pod.hide_devices = {"main"};
  EXPECT_EQ(verdict(false, "main", false), "") << "the CDI device comes after the pod's value";
  EXPECT_TRUE(says(verdict(false, "main", true),
                   "this node passes the card in ACME_DEVICES, which Tangram's webhook sets"));
  EXPECT_TRUE(says(verdict(false, "main", true), "enable CDI in the container runtime"));
}

class GrowthCheckTest : public GrantCheckTest {
 protected:
  /// Whether "uid-p" may have so much; as verdict().
  std::string growth(const model::GrantedCard& card) {
    const auto fits = check_growth(other(card, "uid-p"), cards, others, orphaned);
    if (fits) return "";
    return (fits.error().code == Errc::kInvalidArgument ? "!" : "") + fits.error().message;
  }
};

TEST_F(GrowthCheckTest, ThereMustBeRoomBesideAllOthers) {
  others = {other(part("GPU-1", 40'960, 500), "uid-z", "2026-06-01T00:00:00Z")};
  EXPECT_EQ(growth(part("GPU-1", 40'960, 500)), "");
  EXPECT_TRUE(says(growth(part("GPU-1", 40'961, 500)), "!card GPU-1 has no room"));
  EXPECT_TRUE(says(growth(part("GPU-1", 40'960, 501)), "!card GPU-1 has no room"));
  EXPECT_EQ(growth(part("GPU-2", 80'000, 1000)), "");
  EXPECT_TRUE(says(growth(part("GPU-3", 1, 1)), "is not on this node any more"));
}

TEST_F(GrowthCheckTest, WhatPodsThatAreGoneStillUseIsFreeLater) {
  others = {other(part("GPU-1", 40'960, 500))};
  others[0].ending = true;
  EXPECT_EQ(growth(part("GPU-1", 40'961, 500)).find("card GPU-1 has no room"), 0U);
  others.clear();
  orphaned = {{.card = "GPU-1", .pod_uid = "uid-gone", .bytes = std::uint64_t{1} << 30U}};
  EXPECT_EQ(growth(part("GPU-1", 81'920, 500)).find("card GPU-1 still holds memory"), 0U);
  EXPECT_EQ(growth(part("GPU-1", 80'000, 500)), "");
}

}  // namespace
}  // namespace tangram::node
