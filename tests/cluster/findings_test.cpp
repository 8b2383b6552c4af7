#include "cluster/findings.hpp"

#include "model/grant.hpp"
#include "model/ledger.hpp"
#include "tests/extender/rig.hpp"
#include "tests/testing/builders.hpp"

#include <gtest/gtest.h>

namespace tangram::cluster {
namespace {

using testing::allocation;
using testing::card;
using testing::granted;
using testing::inventory;

kube::Pod pod_asking(model::Annotations annotations, std::int64_t slots = 1) {
  kube::Pod pod;
  pod.uid = "u";
  pod.ns = "ml";
  pod.name = "p";
  pod.annotations = std::move(annotations);
  pod.containers = {{.name = "main", .slots = slots}};
  return pod;
}

kube::Pod bound(kube::Pod pod, std::optional<model::Grant> grant = std::nullopt) {
  pod.node = "n";
  if (grant) pod.annotations["gpu-grant"] = model::encode(*grant);
  return pod;
}

model::Grant grant_of(std::int64_t mib, std::int64_t milli) {
  return {.pod_uid = "u",
          .node = "n",
          .issued_at = "2026-01-01T00:00:00Z",
          .isolation = model::Isolation::kMps,
          .containers = {{.container = "main", .cards = {granted("A", mib, milli)}}},
          .signature = {}};
}

std::vector<Note> notes(const kube::Pod& pod) {
  const PolicySource policies(extender::Rig::binpack());
  return examine(pod, policies.plan(pod), recorded_allocation(pod, {}));
}

/// The findings, and all sentences in one.
std::vector<Finding> found(const kube::Pod& pod) {
  std::vector<Finding> findings;
  for (const Note& note : notes(pod)) findings.push_back(note.finding);
  return findings;
}
std::string said(const kube::Pod& pod) {
  std::string all;
  for (const Note& note : notes(pod)) all += note.sentence + "\n";
  return all;
}
using Found = std::vector<Finding>;

TEST(ExamineTest, FindsNothingWrongWithUsualPods) {
  EXPECT_EQ(found(pod_asking({}, 0)), Found{});
  EXPECT_EQ(found(pod_asking({{"gpu-fraction", "0.5"}})), Found{});
  EXPECT_EQ(found(bound(pod_asking({{"gpu-fraction", "0.5"}}), grant_of(1, 500))), Found{});
  EXPECT_EQ(found(bound(pod_asking({}, 0))), Found{});
}

TEST(ExamineTest, NamesTheSlotThatIsMissing) {
  const auto pod = pod_asking({{"gpu-fraction", "0.5"}}, 0);
  EXPECT_EQ(found(pod), Found{Finding::kSlotMissing});
  EXPECT_NE(said(pod).find("tangram.dev/gpu-slot: 1 in its resources.limits"), std::string::npos);
  EXPECT_NE(said(pod).find("does not ask Tangram"), std::string::npos);
}

TEST(ExamineTest, SaysWhatAContainerWithoutASlotMissesBesideOneThatHasIt) {
  auto pod = pod_asking({{"gpu-fraction.main", "0.5"}, {"gpu-fraction.side", "0.5"}}, 1);
  pod.containers.push_back({.name = "side"});
  EXPECT_EQ(found(pod), Found{Finding::kSlotMissing});
  EXPECT_NE(said(pod).find("container \"side\" requests a GPU and has no slot, so it would start "
                           "without a card"),
            std::string::npos)
      << said(pod);
}

TEST(ExamineTest, RepeatsWhatIsWrongWithTheAnnotations) {
  const auto bad = pod_asking({{"gpu-mem", "8"}});
  EXPECT_EQ(found(bad), Found{Finding::kRequestInvalid});
  EXPECT_NE(said(bad).find("8Gi"), std::string::npos);
  EXPECT_EQ(found(pod_asking({})), Found{Finding::kRequestInvalid});  // a slot without a request
}

TEST(ExamineTest, ObjectsToSeveralSlots) {
  const auto pod = pod_asking({{"gpu-fraction", "0.5"}}, 2);
  EXPECT_EQ(found(pod), Found{Finding::kTooManySlots});
  EXPECT_NE(said(pod).find("tangram.dev/gpu-count"), std::string::npos);
}

TEST(ExamineTest, FindsPodsThatWereBoundWithoutAGrant) {
  EXPECT_EQ(found(bound(pod_asking({{"gpu-fraction", "0.5"}}))), Found{Finding::kGrantMissing});
  EXPECT_EQ(found(bound(pod_asking({{"gpu-fraction", "0.5"}}, 0))), Found{Finding::kGrantMissing});
  EXPECT_EQ(found(bound(pod_asking({}, 1))), Found{Finding::kGrantMissing});
}

TEST(ExamineTest, FindsGrantsThatAreNotThePodsOwn) {
  auto copied = grant_of(1, 500);
  copied.pod_uid = "another";
  EXPECT_EQ(found(bound(pod_asking({{"gpu-fraction", "0.5"}}), copied)),
            Found{Finding::kGrantInvalid});
  auto moved = grant_of(1, 500);
  moved.node = "elsewhere";
  EXPECT_EQ(found(bound(pod_asking({{"gpu-fraction", "0.5"}}), moved)),
            Found{Finding::kGrantInvalid});
  auto text = bound(pod_asking({{"gpu-fraction", "0.5"}, {"gpu-grant", "{"}}));
  EXPECT_EQ(found(text), Found{Finding::kGrantInvalid});
}

TEST(ExamineTest, FindsGrantsThatCountOnlyByAStart) {
  auto pod = bound(pod_asking({{"gpu-fraction", "0.5"}}), grant_of(1, 500));
  pod.ran = {"main"};
  model::SignatureVerdict verdict{.key = std::string(model::kUnknownKey), .problem = "is forged"};
  const auto findings = [&] {
    const auto recorded = recorded_allocation(pod, [&](std::string_view) { return verdict; });
    EXPECT_FALSE(recorded.allocation.containers.empty());
    const PolicySource policies(extender::Rig::binpack());
    Found all;
    for (const Note& note : examine(pod, policies.plan(pod), recorded)) all.push_back(note.finding);
    return all;
  };
  EXPECT_EQ(findings(), Found{Finding::kGrantInvalid});
  verdict.key = model::kUnsigned;
  EXPECT_EQ(findings(), Found{}) << "it may be from before signatures were required";
}

TEST(ExamineTest, FindsGrantsOfWhatWasNotAskedFor) {
  EXPECT_EQ(found(bound(pod_asking({{"gpu-fraction", "0.5"}}), grant_of(1, 1000))),
            Found{Finding::kGrantDiffers});
  EXPECT_EQ(found(bound(pod_asking({}, 0), grant_of(1, 500))), Found{Finding::kGrantDiffers});
  EXPECT_EQ(found(bound(pod_asking({{"gpu-count", "1"}}), grant_of(1, 1000))), Found{});
  EXPECT_EQ(found(bound(pod_asking({{"gpu-count", "2"}}), grant_of(1, 1000))),
            Found{Finding::kGrantDiffers});
}

TEST(ExamineTest, OtherAmountsAreAResize) {
  EXPECT_EQ(found(bound(pod_asking({{"gpu-fraction", "0.5"}}), grant_of(1, 900))), Found{});
  EXPECT_EQ(found(bound(pod_asking({{"gpu-mem", "8Gi"}}), grant_of(8'191, 100))), Found{});
}

class ExamineCardsTest : public ::testing::Test {
 protected:
  ExamineCardsTest() { ledger_.put_node(inventory("n", {card("A", "T4", Mebibytes(1000))})); }
  std::map<std::string, Found> found() {
    std::map<std::string, Found> all;
    for (const auto& [uid, noted] : examine_cards(*ledger_.snapshot())) {
      for (const Note& note : noted.notes) all[uid].push_back(note.finding);
    }
    return all;
  }
  testing::ManualClock clock_;
  model::Ledger ledger_{clock_};
};

TEST_F(ExamineCardsTest, FindsNothingWhereAllIsWithinCapacity) {
  ledger_.observe(allocation("p", "n", {granted("A", 1000, 1000)}));
  EXPECT_TRUE(found().empty());
}

TEST_F(ExamineCardsTest, NamesThePodsOfAnOverGrantedCard) {
  ledger_.observe(allocation("p", "n", {granted("A", 600, 100)}));
  ledger_.observe(allocation("q", "n", {granted("A", 600, 100)}));
  ledger_.observe(allocation("cpu", "n", {}));
  EXPECT_EQ(found(), (std::map<std::string, Found>{{"p", {Finding::kCardOverGranted}},
                                                   {"q", {Finding::kCardOverGranted}}}));
}

TEST_F(ExamineCardsTest, NamesThePodsWhoseCardIsNotThere) {
  ledger_.observe(allocation("p", "n", {granted("A", 100, 100)}));
  ledger_.observe(allocation("q", "n", {granted("Z", 100, 100)}));
  EXPECT_EQ(found(), (std::map<std::string, Found>{{"q", {Finding::kCardMissing}}}));
  ledger_.remove_node("n");  // nothing is known of its cards then
  EXPECT_TRUE(found().empty());
}

}  // namespace
}  // namespace tangram::cluster
