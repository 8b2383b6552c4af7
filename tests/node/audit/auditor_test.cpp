#include "node/audit/auditor.hpp"

#include "tests/node/container/start_rig.hpp"

#include <gtest/gtest.h>

#include <filesystem>

namespace tangram::node {
namespace {

class AuditorTest : public ::testing::Test {
 protected:
  AuditorTest() {
    EXPECT_EQ(rig.kubelet.admit(a), "");
    EXPECT_EQ(rig.kubelet.start_container(a), "");
    rig.processes.by_pid = {{100, a.uid}};
  }
  Auditor::Counts counts() const { return auditor.counts(); }
  std::uint64_t standing(Drift::Kind kind) const {
    return counts().drifts.at(static_cast<std::size_t>(kind));
  }

  StartRig rig;
  std::function<void()> during_audit = [] {};  ///< the journal was read, and nothing is removed yet
  StartRig::Owner a = rig.bound("a", {part("GPU-1", 100, 100)});
  Auditor auditor{parts()};

  Auditor::Parts parts() {
    return {.node = "n1",
            .own_pod = "uid-agent",
            .slot_owners = [this] { return rig.slot_owners(); },
            .lister = rig.lister,
            .pods = rig.pods,
            .source = rig.source,
            .cards =
                [this] {
                  during_audit();
                  return rig.cards;
                },
            .processes = rig.processes,
            .journal = *rig.journal,
            .cdi = rig.cdi,
            .report_event =
                [this](const kube::EventNote& note) {
                  rig.events.push_back(note.kind + " " + note.name + ": " + note.reason);
                }};
  }
};

TEST_F(AuditorTest, AtRestItChangesAndSaysNothing) {
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(auditor.audit_once());
  EXPECT_EQ(counts().audits, 3U);
  EXPECT_EQ(counts().restored + counts().removed, 0U);
  EXPECT_TRUE(rig.events.empty());
  EXPECT_EQ(rig.cards_of(a), "GPU-1");
}

TEST_F(AuditorTest, PutsBackSpecsAtOnce) {
  std::filesystem::remove_all(rig.folder.path() + "/cdi");
  EXPECT_EQ(auditor.restore(), 1U);
  EXPECT_EQ(rig.cards_of(a), "GPU-1");
  std::filesystem::remove_all(rig.folder.path() + "/cdi");
  ASSERT_TRUE(auditor.audit_once());
  EXPECT_EQ(rig.cards_of(a), "GPU-1");
  EXPECT_EQ(counts().restored, 2U);
}

TEST_F(AuditorTest, TakesOverTheMarkOfAStartThatTheJournalLacks) {
  const std::string former = "TANGRAM_START=" + rig.env(a, "TANGRAM_START");
  const std::string name = rig.env(a, "TANGRAM_ALLOCATION");
  const std::string in_the_way = rig.folder.path() + "/allocations/" + name + ".json.part";
  std::filesystem::create_directories(in_the_way + "/full");  // as a full disk
  ASSERT_EQ(rig.kubelet.start_container(a), "");
  const std::string mark = "TANGRAM_START=" + rig.env(a, "TANGRAM_START");
  for (const bool full : {true, false}) {
    if (!full) std::filesystem::remove_all(in_the_way);
    rig.kill_agent();
    rig.boot_agent();
    ASSERT_EQ(rig.journal->find(name)->claim->mark, former);
    Auditor next(parts());
    EXPECT_EQ(next.restore(), 0U);
    const Claim claim = *rig.journal->find(name)->claim;
    EXPECT_EQ(claim.mark, mark);
    EXPECT_EQ(claim.former_mark, former);
    EXPECT_EQ("TANGRAM_START=" + rig.env(a, "TANGRAM_START"), mark) << "the spec stays";
  }
  rig.kill_agent();
  rig.boot_agent();
  EXPECT_EQ(rig.journal->find(name)->claim->mark, mark) << "on disk";
}

TEST_F(AuditorTest, ReplacesASpecThatItCannotHaveWritten) {
  const std::string device = rig.kubelet.device_of(a);
  const std::string name = device.substr(device.find('=') + 1);
  for (const char* text : {"", "torn", R"({"devices":[{"containerEdits":{"env":["A=b"]}}]})"}) {
    ASSERT_TRUE(rig.cdi.put(name, text));
    EXPECT_EQ(auditor.restore(), 1U) << text;
    EXPECT_EQ(rig.cards_of(a), "GPU-1");
  }
}

TEST_F(AuditorTest, RemovesWhatWasSuperfluousTwice) {
  rig.pods.erase(a.uid);
  rig.processes.by_pid.clear();
  rig.kubelet.end(a.uid);
  ASSERT_TRUE(auditor.audit_once());
  EXPECT_EQ(rig.cards_of(a), "GPU-1");
  ASSERT_TRUE(auditor.audit_once());
  EXPECT_EQ(rig.cards_of(a), "-");
  EXPECT_TRUE(rig.journal->all().empty());
  EXPECT_EQ(counts().removed, 1U);
}

/// The pod is asked for: the watch does not have it yet, and it has no process.
TEST_F(AuditorTest, AContainerThatIsAdmittedDuringAnAuditKeepsItsClaim) {
  const StartRig::Owner b = rig.bound("b", {part("GPU-1", 100, 100)});
  ASSERT_EQ(rig.kubelet.admit(b), "");
  rig.pods.lag(b.uid);
  ASSERT_TRUE(auditor.audit_once());
  during_audit = [&] { EXPECT_EQ(rig.kubelet.start_container(b), ""); };
  ASSERT_TRUE(auditor.audit_once());
  EXPECT_EQ(rig.cards_of(b), "GPU-1");
  EXPECT_EQ(rig.journal->all().size(), 2U);
  EXPECT_EQ(counts().removed, 0U);
}

TEST_F(AuditorTest, AContainerThatIsPreparedAgainDuringAnAuditKeepsItsClaim) {
  rig.pods.lag(a.uid);
  rig.processes.by_pid.clear();
  ASSERT_TRUE(auditor.audit_once());
  during_audit = [&] { EXPECT_EQ(rig.kubelet.start_container(a), ""); };
  ASSERT_TRUE(auditor.audit_once());
  EXPECT_EQ(rig.cards_of(a), "GPU-1");
  EXPECT_TRUE(rig.journal->all().at(0).claim);
}

TEST_F(AuditorTest, ReportsADifferenceThatPersists) {
  rig.source.processes["GPU-2"] = {{100, 1U << 20U}};
  ASSERT_TRUE(auditor.audit_once());
  EXPECT_EQ(standing(Drift::Kind::kProcessWithoutGrant), 0U);
  ASSERT_TRUE(auditor.audit_once());
  EXPECT_EQ(standing(Drift::Kind::kProcessWithoutGrant), 1U);
  EXPECT_EQ(rig.events, std::vector<std::string>{"Pod a: RecordsDiffer"});
  rig.source.processes.clear();
  ASSERT_TRUE(auditor.audit_once());
  EXPECT_EQ(standing(Drift::Kind::kProcessWithoutGrant), 0U);
}

TEST_F(AuditorTest, TheAgentsOwnProcessesAreNobodys) {
  rig.processes.by_pid[200] = "uid-agent";
  rig.processes.by_pid[300] = "uid-gone";
  rig.source.processes["GPU-1"] = {{200, 1U << 20U}, {300, 1}, {400, 1}};
  ASSERT_TRUE(auditor.audit_once());
  ASSERT_TRUE(auditor.audit_once());
  EXPECT_EQ(standing(Drift::Kind::kProcessLeft), 1U);
  EXPECT_EQ(rig.events, std::vector<std::string>{"Node n1: RecordsDiffer"});
}

TEST_F(AuditorTest, ACardThatDoesNotAnswerStopsNoAudit) {
  rig.source.answers = false;
  std::filesystem::remove_all(rig.folder.path() + "/cdi");
  EXPECT_TRUE(auditor.audit_once());
  EXPECT_EQ(rig.cards_of(a), "GPU-1");
}

TEST_F(AuditorTest, WithoutOneOfTheRecordsItTouchesNothing) {
  rig.pods.reachable(false, false);
  EXPECT_FALSE(auditor.audit_once());
  rig.pods.reachable(true, true);
  std::filesystem::remove(rig.kubelet.checkpoint());
  EXPECT_FALSE(auditor.audit_once());
  EXPECT_EQ(counts().failed, 2U);
  EXPECT_EQ(counts().audits, 0U);
  EXPECT_EQ(rig.cards_of(a), "GPU-1");
}

}  // namespace
}  // namespace tangram::node
