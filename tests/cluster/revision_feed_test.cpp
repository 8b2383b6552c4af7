#include "cluster/cluster_feed.hpp"
#include "model/cards.hpp"
#include "model/grant.hpp"
#include "model/resizes.hpp"
#include "tests/extender/rig.hpp"
#include "tests/testing/send_list.hpp"

#include <gtest/gtest.h>

namespace tangram::cluster {
namespace {

using testing::node_json;
using testing::pod_json;
using testing::PodText;

/// A pod on n1, where it has a share of card n1-0.
class RevisionTest : public ::testing::Test {
 protected:
  RevisionTest() { testing::send_list(rig_.nodes, {extender::Rig::node_text("n1", 2)}); }
  /// A pod whose grant is this revision, with so much of card n1-0.
  static PodText revised(int revision, std::int64_t milli, bool is_signed = false) {
    model::GrantedCard part = testing::shared("n1-0", 4'096, milli);
    if (revision > 0) part.former = testing::granted("", 4'096, 500).amounts();
    model::Grant grant{.pod_uid = "u1",
                       .node = "n1",
                       .issued_at = "2026-01-01T00:00:00Z",
                       .revision = revision,
                       .isolation = model::Isolation::kMps,
                       .containers = {{.container = "main", .cards = {part}}},
                       .signature = {}};
    if (is_signed) grant.signature = "signed";
    PodText pod{.name = "p", .uid = "u1", .node = "n1"};
    pod.annotations = {{"tangram.dev/gpu-fraction", "0.5"},
                       {"tangram.dev/gpu-grant", model::encode(grant)}};
    return pod;
  }
  /// With another text in its grant.
  static PodText changed(PodText pod, const std::string& from, const std::string& to) {
    std::string& grant = pod.annotations["tangram.dev/gpu-grant"];
    grant.replace(grant.find(from), from.size(), to);
    return pod;
  }
  /// Signatures are looked at, and not required.
  static model::SignatureCheck by_signature() {
    return [](std::string_view text) {
      const bool is_signed = text.find("\"sig\":\"signed\"") != std::string_view::npos;
      return model::SignatureVerdict{std::string(is_signed ? "key-1" : model::kUnsigned), ""};
    };
  }
  void show(const PodText& pod) { feed_.change(kube::EventType::kModified, pod_json(pod)); }
  int revision() { return rig_.entry("u1").allocation->revision; }
  std::int64_t used() { return rig_.used("n1").count(); }
  /// The node's agent publishes this.
  void publish(const std::string& resizes) {
    rig_.nodes.change(
        kube::EventType::kModified,
        node_json("n1", {{"tangram.dev/cards",
                          model::encode_cards({testing::card("n1-0"), testing::card("n1-1")})},
                         {"tangram.dev/resizes", resizes}}));
  }
  void applied(int revision) { publish(model::encode_resizes({{"u1", {.applied = revision}}})); }

  extender::Rig rig_;
  PodFeed feed_{rig_.ledger, rig_.table, rig_.policies, rig_.counters, by_signature()};
};

TEST_F(RevisionTest, ALaterOneCounts) {
  show(revised(0, 500));
  show(revised(1, 700));
  EXPECT_EQ(used(), 700);
  show(revised(2, 100));
  EXPECT_EQ(revision(), 2);
  EXPECT_EQ(used(), 700) << "the former amounts, until the agent has applied it";
  applied(2);
  EXPECT_EQ(used(), 100);
}

TEST_F(RevisionTest, AfterAListAnUnsignedOneReplacesNoSignedOne) {
  testing::send_list(feed_, {pod_json(revised(0, 500, true))});
  EXPECT_TRUE(rig_.entry("u1").is_signed);
  EXPECT_EQ(rig_.entry("u1").issued_at, "2026-01-01T00:00:00Z");
  show(revised(1, 700));
  EXPECT_EQ(revision(), 0);
  show(revised(1, 700, true));
  EXPECT_EQ(revision(), 1);
}

TEST_F(RevisionTest, AListChangesANodeOnceForAllItsNewPods) {
  const auto version = [&] { return rig_.ledger.snapshot()->find("n1")->version; };
  const auto before = version();
  testing::send_list(
      feed_, {pod_json({.name = "a", .uid = "a", .node = "n1"}),
              pod_json({.name = "b", .uid = "b", .node = "n1"}), pod_json(revised(0, 500))});
  EXPECT_EQ(version(), before + 1);
  EXPECT_EQ(rig_.ledger.snapshot()->find("n1")->allocations.size(), 3U);
}

TEST_F(RevisionTest, AnUnsignedOneHidesNothingThatThePodMayStillHave) {
  const auto without_former = [](int revision, std::int64_t milli) {
    PodText pod = revised(revision, milli);
    std::string& grant = pod.annotations["tangram.dev/gpu-grant"];
    const auto from = grant.find(",\"former\"");
    grant.erase(from, grant.find('}', from) + 1 - from);
    return pod;
  };
  show(revised(0, 500));
  show(without_former(1, 1));
  EXPECT_EQ(revision(), 1);
  EXPECT_EQ(used(), 500);
  show(without_former(2, 2));
  EXPECT_EQ(used(), 500);
  applied(2);
  EXPECT_EQ(used(), 2);
  show(without_former(3, 1));
  EXPECT_EQ(used(), 2) << "what it had before that counts no more";
}

TEST_F(RevisionTest, AnUnsignedOneKeepsTheMeansOfItsLimits) {
  show(revised(0, 500));
  PodText other = revised(1, 600);
  std::string& grant = other.annotations["tangram.dev/gpu-grant"];
  const auto means = grant.find("\"memoryLimits\"");
  ASSERT_EQ(means, std::string::npos) << "none is the default";
  grant.insert(grant.find(",\"former\""), R"(,"memoryLimits":"library")");
  show(other);
  EXPECT_EQ(revision(), 0);
}

TEST_F(RevisionTest, AnEarlierOneDoesNotCount) {
  for (const bool is_signed : {false, true}) {
    show(revised(3, 300, is_signed));
    applied(3);
    show(revised(2, 900, is_signed));
    EXPECT_EQ(revision(), 3);
    EXPECT_EQ(used(), 300);
  }
}

TEST_F(RevisionTest, IsVouchedForNoWeakerThanWhatItReplaces) {
  show(revised(0, 500, true));
  show(revised(1, 700, false));
  EXPECT_EQ(revision(), 0);
  EXPECT_EQ(used(), 500);
  show(revised(0, 500, false));  // what stands there by now does not matter
  show(revised(2, 700, false));
  EXPECT_EQ(revision(), 0);
  show(revised(1, 700, true));
  EXPECT_EQ(used(), 700);
}

TEST_F(RevisionTest, AnUnsignedOneKeepsItsCards) {
  show(revised(0, 500));
  show(changed(revised(1, 500), "n1-0", "n1-1"));
  EXPECT_EQ(revision(), 0);
  EXPECT_EQ(used(), 500);
}

TEST_F(RevisionTest, AnUnsignedOneIsOfTheGrantThatWasSeenFirst) {
  show(revised(0, 500));
  show(changed(revised(1, 900), "2026-01", "2026-02"));
  EXPECT_EQ(revision(), 0);
  EXPECT_EQ(used(), 500);
  EXPECT_EQ(rig_.entry("u1").issued_at, "2026-01-01T00:00:00Z");
  show(revised(1, 700));
  EXPECT_EQ(used(), 700);
}

TEST_F(RevisionTest, TheRevisionThatIsBeingWrittenStaysWhileTheWatchShowsTheOneBefore) {
  show(revised(0, 500));
  const auto next = *recorded_allocation(*kube::decode_pod(pod_json(revised(1, 700))), {})
                         .allocation.containers.begin();
  rig_.ledger.apply([&](model::Ledger& ledger) {
    model::Allocation allocation = *ledger.find("u1")->allocation;
    allocation.containers = {next};
    allocation.revision = 1;
    EXPECT_TRUE(ledger.resize(allocation));
  });
  EXPECT_EQ(used(), 700);
  show(revised(0, 500));
  EXPECT_EQ(used(), 700);
  show(revised(1, 700));
  EXPECT_EQ(used(), 700);
  EXPECT_EQ(rig_.entry("u1").former, nullptr);
}

TEST_F(RevisionTest, AnAnswerThatCannotBeReadChangesNoAmount) {
  show(revised(1, 100));
  publish("{}");
  EXPECT_EQ(used(), 500);
  EXPECT_EQ(rig_.counters.bad_cards, 1U);
  publish(model::encode_resizes(
      {{"u1",
        {.applied = 2,
         .held = {{"main", {{"n1-0", testing::granted("", 4'096, 800).amounts()}}}}}}}));
  EXPECT_EQ(used(), 800);
  publish(R"({"version":1,"pods":{"u1":{"revision":2,"held":{"main":{"n1-0":{}}}}}})");
  EXPECT_EQ(used(), 800) << "what it said before counts";
  EXPECT_EQ(rig_.counters.bad_cards, 2U);
}

TEST_F(RevisionTest, APodThatRequestsMoreThanItWasGrantedCanBeResized) {
  PodText pod = revised(0, 500);
  show(pod);
  EXPECT_EQ(rig_.table.resizable().size(), 1U) << "half of the card's memory is not 4 GiB";
  pod.annotations.erase("tangram.dev/gpu-fraction");
  pod.annotations["tangram.dev/gpu-mem"] = "4Gi";
  pod.annotations["tangram.dev/gpu-compute"] = "0.5";
  show(pod);
  EXPECT_EQ(rig_.table.find_resizable("u1"), nullptr);
  pod.annotations["tangram.dev/gpu-mem"] = "5Gi";
  show(pod);
  ASSERT_NE(rig_.table.find_resizable("u1"), nullptr);
  feed_.change(kube::EventType::kDeleted, pod_json(pod));
  EXPECT_TRUE(rig_.table.resizable().empty());
}

}  // namespace
}  // namespace tangram::cluster
