#include "node/audit/audit.hpp"

#include "tests/node/container/start_rig.hpp"

#include <gtest/gtest.h>

namespace tangram::node {
namespace {

using Kind = Drift::Kind;

LocalPodPtr pod(const std::string& name, bool granted = true) {
  LocalPod pod;
  pod.pod.uid = "uid-" + name;
  pod.pod.ns = "ml";
  pod.pod.name = name;
  pod.pod.node = "n1";
  pod.pod.containers = {{.name = "main", .slots = 1}};
  if (granted) {
    pod.grant = model::Grant{.pod_uid = pod.pod.uid,
                             .node = "n1",
                             .issued_at = "2026-01-01T00:00:00Z",
                             .isolation = model::Isolation::kMps,
                             .containers = {{"main", {part("GPU-1", 100, 100)}}},
                             .signature = {}};
  }
  return std::make_shared<const LocalPod>(std::move(pod));
}

JournalEntry entry(const std::string& name, const std::string& pod, bool claimed = true) {
  JournalEntry entry{.name = name, .slots = {"slot-1"}, .allocated_at = {}, .claim = {}};
  if (claimed) {
    entry.claim = Claim{.pod_uid = "uid-" + pod,
                        .ns = "ml",
                        .pod = pod,
                        .container = "main",
                        .grant = "{}",
                        .spec = "spec of " + name};
  }
  return entry;
}

class AuditTest : public ::testing::Test {
 protected:
  AuditTest() {  // one pod, and all records agree
    view.pods = {pod("a")};
    view.owners = {{"uid-a", "main", {"slot-1"}, "slot-1.x"}};
    view.listed = {{"ml", "a", "main", {"slot-1"}}};
    view.journal = {entry("slot-1.x", "a")};
    view.specs = {"slot-1.x"};
    view.uses = {{"GPU-1", "uid-a", 100U << 20U}};
    view.running = {"uid-a"};
  }
  /// The kinds, and their pods: "slot_without_grant ml/a".
  std::set<std::string> drifts() const {
    std::set<std::string> all;
    for (const Drift& drift : audit(view).drifts) {
      all.insert(std::string(to_string(drift.kind)) + " " + drift.ns + "/" + drift.pod);
    }
    return all;
  }
  Repairs repairs() const { return audit(view).repairs; }
  AuditView view;
};

TEST_F(AuditTest, RecordsThatAgreeNeedNothing) {
  EXPECT_TRUE(drifts().empty());
  EXPECT_EQ(repairs().restore, std::vector{entry("slot-1.x", "a")});
  EXPECT_TRUE(repairs().forget.empty());
  EXPECT_TRUE(repairs().remove.empty());
}

TEST_F(AuditTest, ASlotWithoutAGrant) {
  view.pods = {pod("a", false)};
  view.uses.clear();
  EXPECT_EQ(drifts(), std::set<std::string>{"slot_without_grant ml/a"});
}

TEST_F(AuditTest, OfAPodThatIsLeftOutNothingIsMissing) {
  view.pods = {std::make_shared<const LocalPod>(outline_of(*pod("a")))};
  EXPECT_TRUE(drifts().empty());
  view.running.clear();
  EXPECT_TRUE(repairs().forget.empty());
  EXPECT_TRUE(repairs().remove.empty());
}

TEST_F(AuditTest, AGrantWithoutASlot) {
  view.owners.clear();
  EXPECT_TRUE(drifts().empty()) << "kubelet's list still names it";
  view.listed.clear();
  EXPECT_EQ(drifts(), std::set<std::string>{"grant_without_slot ml/a"});
}

TEST_F(AuditTest, ProcessesOnCardsThatWereNotGranted) {
  view.uses = {{"GPU-2", "uid-a", 1}};
  EXPECT_EQ(drifts(), std::set<std::string>{"process_without_grant ml/a"});
}

TEST_F(AuditTest, HowMuchAPodUsesIsNotItsQuestion) {
  view.uses[0].bytes = ~std::uint64_t{0};
  EXPECT_TRUE(drifts().empty()) << "MemoryChecker reports it";
}

TEST_F(AuditTest, ProcessesOfPodsThatAreGone) {
  view.pods.clear();
  EXPECT_EQ(drifts(), std::set<std::string>{"process_left /"});
  EXPECT_TRUE(repairs().forget.empty()) << "as long as it lives its device stays";
}

TEST_F(AuditTest, WhatNobodyWillStartAgainIsForgotten) {
  view.pods.clear();
  view.uses.clear();
  view.running.clear();
  EXPECT_EQ(repairs().forget, std::set<std::string>{"slot-1.x"});
  EXPECT_EQ(repairs().remove, std::set<std::string>{"slot-1.x"});
  EXPECT_TRUE(repairs().restore.empty());
}

TEST_F(AuditTest, AnAllocationWithoutAClaimLivesAsLongAsItsOwner) {
  view.journal = {entry("slot-1.x", "a", false)};
  view.specs.clear();
  EXPECT_TRUE(repairs().forget.empty());
  view.owners.clear();
  EXPECT_EQ(repairs().forget, std::set<std::string>{"slot-1.x"});
}

TEST_F(AuditTest, SpecsThatTheJournalLostStayWithTheirPod) {
  view.journal.clear();
  EXPECT_TRUE(repairs().remove.empty());
  view.pods.clear();
  view.running.clear();
  EXPECT_EQ(repairs().remove, std::set<std::string>{"slot-1.x"});
}

}  // namespace
}  // namespace tangram::node
