// Starts of containers whose pods are resized meanwhile.

#include "tests/node/container/start_rig.hpp"

#include <gtest/gtest.h>

namespace tangram::node {
namespace {

class StartResizedTest : public ::testing::Test {
 protected:
  using Owner = StartRig::Owner;
  /// The pod's annotation becomes this revision.
  Owner annotate(const std::string& name, int revision, const model::GrantedCard& card,
                 const std::vector<std::string>& containers = {"main"}) {
    model::Grant grant;
    grant.pod_uid = "uid-" + name;
    grant.node = "n1";
    grant.issued_at = "2026-01-01T00:00:00Z";
    grant.revision = revision;
    grant.isolation = model::Isolation::kTimeSlice;
    std::vector<model::ContainerInfo> infos;
    for (const std::string& container : containers) {
      grant.containers.push_back({container, {card}});
      infos.push_back({.name = container, .slots = 1});
    }
    rig.put_pod(name, encode(grant), infos);
    return {.uid = "uid-" + name, .pod = name, .container = containers.back()};
  }
  std::string limit(const Owner& owner) { return rig.env(owner, "TANGRAM_MEMORY_LIMIT_BYTES"); }

  /// The next start of pod a meets a resize, which is applied while the start makes its edits.
  void apply_during_edits() {
    rig.during_edits = [this] {
      const auto claims = rig.journal->lock_claims();
      JournalEntry entry = rig.journal->all().at(0);
      entry.claim->grant = rig.pods.find("uid-a")->grant_text;
      ASSERT_TRUE(rig.journal->put(entry));
    };
  }

  StartRig rig;
  const model::GrantedCard small = shared(10);
  const model::GrantedCard large = shared(20);

 private:
  static model::GrantedCard shared(std::int64_t mib) {
    model::GrantedCard card = part("GPU-1", mib, 100);
    card.whole = false;
    return card;
  }
};

TEST_F(StartResizedTest, AnAdmittedContainerStartsAgainWithWhatItHas) {
  const Owner a = annotate("a", 0, large);
  ASSERT_EQ(rig.kubelet.admit(a), "");
  ASSERT_EQ(rig.kubelet.start_container(a), "");
  annotate("a", 1, small);
  ASSERT_EQ(rig.kubelet.start_container(a), "");
  EXPECT_EQ(limit(a), "20971520") << "the resize is not applied";
}

TEST_F(StartResizedTest, ARevisionThatWasPublishedForAPodThatHasNotStartedIsTheLeast) {
  rig.applied = 1;
  const Owner a = annotate("a", 0, large);
  ASSERT_EQ(rig.kubelet.admit(a), "");
  EXPECT_NE(rig.kubelet.start_container(a).find("revision 1 of its grant counts, and revision 0"),
            std::string::npos);
  EXPECT_TRUE(!rig.journal->all().at(0).claim);
  annotate("a", 1, small);
  ASSERT_EQ(rig.kubelet.start_container(a), "");
  EXPECT_EQ(limit(a), "10485760");
}

TEST_F(StartResizedTest, ARevisionOfAnotherContainerIsTheLeast) {
  const Owner main = annotate("a", 1, small);
  ASSERT_EQ(rig.kubelet.admit(main), "");
  ASSERT_EQ(rig.kubelet.start_container(main), "");
  const Owner side = annotate("a", 0, large, {"main", "side"});
  ASSERT_EQ(rig.kubelet.admit(side), "");
  EXPECT_NE(rig.kubelet.start_container(side), "");
}

/// The journal as the resizer changes it, while kubelet waits for the start.
TEST_F(StartResizedTest, AResizeThatIsAppliedMeanwhilePostponesTheStart) {
  const Owner a = annotate("a", 0, large);
  ASSERT_EQ(rig.kubelet.admit(a), "");
  ASSERT_EQ(rig.kubelet.start_container(a), "");
  annotate("a", 1, small);
  apply_during_edits();
  EXPECT_NE(rig.kubelet.start_container(a).find("was resized while its container was about"),
            std::string::npos);
  rig.during_edits = [] {};
  ASSERT_EQ(rig.kubelet.start_container(a), "");
  EXPECT_EQ(limit(a), "10485760");
}

/// The limits of running containers are the resizer's from then on.
TEST_F(StartResizedTest, AResizeThatIsAppliedMeanwhileIsNotUndoneByTheStart) {
  Inventory inventory;
  InstalledCard card;
  card.card = testing::card("GPU-1");
  card.card.memory_limits = model::MemoryLimits::kLibrary;
  inventory.cards.push_back(card);
  rig.set_cards(inventory);
  const Owner a = annotate("a", 0, large);
  ASSERT_EQ(rig.kubelet.admit(a), "");
  ASSERT_EQ(rig.kubelet.start_container(a), "");
  ASSERT_EQ(rig.limiter->starts, 1);
  annotate("a", 1, small);
  apply_during_edits();
  EXPECT_NE(rig.kubelet.start_container(a), "");
  EXPECT_EQ(rig.limiter->starts, 1) << "with the former, larger limit";
}

TEST_F(StartResizedTest, TheBootOfTheLastStartIsRecorded) {
  const Owner a = annotate("a", 0, large);
  ASSERT_EQ(rig.kubelet.admit(a), "");
  ASSERT_EQ(rig.kubelet.start_container(a), "");
  EXPECT_EQ(rig.journal->all().at(0).claim->boot, StartRig::kBoot);
}

}  // namespace
}  // namespace tangram::node
