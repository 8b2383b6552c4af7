#include "cli/cordon.hpp"

#include "tests/cli/rig.hpp"
#include "tests/testing/fault_api.hpp"

#include <gtest/gtest.h>

namespace tangram::cli {
namespace {

class CordonTest : public ::testing::Test {
 protected:
  CordonTest() {
    rig_.add_node("a", {testing::card("GPU-a0"), testing::card("GPU-a1")},
                  ", example.com/note: mine");
  }
  std::string annotation(const std::string& node = "a") {
    const std::string text = rig_.ask(testing::get_request("/api/v1/nodes/" + node)).body;
    const auto own = node::decode_own_node(text);
    if (!own) throw std::runtime_error(own.error().message);
    return own->cordon;
  }
  std::string drained(const std::string& node = "a") {
    const std::string text = rig_.ask(testing::get_request("/api/v1/nodes/" + node)).body;
    return node::decode_own_node(text)->drain;
  }
  std::string done(const Result<std::string>& result) {
    return result ? *result : "error: " + result.error().message;
  }
  std::size_t patches() {
    const auto calls = rig_.api.calls();
    return static_cast<std::size_t>(std::count_if(
        calls.begin(), calls.end(),
        [](const kube::Request& request) { return request.method != kube::Method::kGet; }));
  }

  Rig rig_;
};

TEST(CordonTextTest, KeepsWhatStandsThere) {
  EXPECT_EQ(with_card("", "GPU-1", ""), "GPU-1");
  EXPECT_EQ(with_card("GPU-1", "GPU-2", "its fan"), "GPU-1,GPU-2=its fan");
  EXPECT_EQ(with_card(" GPU-1 = old ,GPU-3", "GPU-1", "new"), "GPU-3,GPU-1=new");
  EXPECT_EQ(without_card("GPU-1,GPU-2=x y,GPU-3", "GPU-2"), "GPU-1,GPU-3");
  EXPECT_EQ(without_card("GPU-1", "GPU-1"), "");
  EXPECT_EQ(without_card("all,,GPU-1", "GPU-1"), "all");
}

TEST_F(CordonTest, WritesTheCardAndWhy) {
  EXPECT_EQ(done(cordon_card(rig_.api, "GPU-a1", "its fan is loud", "")),
            "card GPU-a1 (A100) of node a cordoned: within seconds it takes no new pods; its pods "
            "keep running. Undo: kubectl tangram uncordon-card GPU-a1");
  EXPECT_EQ(annotation(), "GPU-a1=its fan is loud");
  EXPECT_EQ(done(cordon_card(rig_.api, "GPU-a0", "", "")).substr(0, 11), "card GPU-a0");
  EXPECT_EQ(annotation(), "GPU-a1=its fan is loud,GPU-a0");
}

TEST_F(CordonTest, DrainsACardThatItCordons) {
  EXPECT_EQ(done(drain_card(rig_.api, "GPU-a1", "its fan is loud", " --context=c")),
            "card GPU-a1 (A100) of node a cordoned and drained: it takes no new pods, and the "
            "extender evicts its pods one after the other, within their disruption budgets, while "
            "other cards have room for them. A pod that stays has an event CardBroken that says "
            "why. Undo: kubectl tangram uncordon-card --context=c GPU-a1");
  EXPECT_EQ(annotation(), "GPU-a1=its fan is loud");
  EXPECT_EQ(drained(), "GPU-a1");
  EXPECT_EQ(done(drain_card(rig_.api, "GPU-a1", "", "")),
            "card GPU-a1 (A100) of node a is being drained already");
  EXPECT_EQ(patches(), 1U);
  ASSERT_TRUE(cordon_card(rig_.api, "GPU-a0", "", ""));
  ASSERT_TRUE(drain_card(rig_.api, "GPU-a0", "", ""));
  EXPECT_EQ(annotation(), "GPU-a1=its fan is loud,GPU-a0");
  EXPECT_EQ(drained(), "GPU-a1,GPU-a0");
  ASSERT_TRUE(uncordon_card(rig_.api, "GPU-a1", ""));
  EXPECT_EQ(annotation(), "GPU-a0");
  EXPECT_EQ(drained(), "GPU-a0");
}

TEST_F(CordonTest, EndsADrain) {
  ASSERT_TRUE(drain_card(rig_.api, "GPU-a1", "loud", ""));
  EXPECT_EQ(done(cordon_card(rig_.api, "GPU-a1", "", "")),
            "card GPU-a1 (A100) of node a cordoned, and not drained any more: within seconds it "
            "takes no new pods; its pods keep running. Undo: kubectl tangram uncordon-card GPU-a1");
  EXPECT_EQ(annotation(), "GPU-a1=loud");
  EXPECT_EQ(drained(), "");
  model::Card mig = testing::card("MIG-1");
  mig.kind = model::CardKind::kMig;
  mig.parent = "GPU-parent";
  rig_.add_node("m", {mig});
  ASSERT_TRUE(drain_card(rig_.api, "GPU-parent", "", ""));
  EXPECT_EQ(done(cordon_card(rig_.api, "MIG-1", "", "")),
            "error: card MIG-1 (A100) of node m is drained with its physical card; end that: "
            "kubectl tangram uncordon-card GPU-parent");
  ASSERT_TRUE(uncordon_card(rig_.api, "GPU-parent", ""));
  ASSERT_TRUE(drain_card(rig_.api, "MIG-1", "", ""));
  ASSERT_TRUE(cordon_card(rig_.api, "GPU-parent", "", ""));
  EXPECT_EQ(drained("m"), "");
}

TEST_F(CordonTest, UncordonEndsADrainWhateverElseCordonsTheCard) {
  rig_.add_node("z", {testing::card("GPU-z0")},
                ", tangram.dev/cordon: all, tangram.dev/drain: GPU-z0");
  EXPECT_EQ(done(uncordon_card(rig_.api, "GPU-z0", "")),
            "card GPU-z0 (A100) of node z is not drained any more; all cards of node z are "
            "cordoned, not this one by name; uncordon all: kubectl annotate node z "
            "tangram.dev/cordon- tangram.dev/drain-");
  EXPECT_EQ(annotation("z"), "all");
  EXPECT_EQ(drained("z"), "");
  rig_.add_node("x", {testing::card("GPU-x0")},
                ", tangram.dev/cordon: \"all,GPU-x0\", tangram.dev/drain: GPU-x0");
  ASSERT_TRUE(uncordon_card(rig_.api, "GPU-x0", ""));
  EXPECT_EQ(annotation("x"), "all");
  rig_.add_node("y", {testing::card("GPU-y0")}, ", tangram.dev/drain: GPU-y0");
  EXPECT_EQ(done(uncordon_card(rig_.api, "GPU-y0", "")),
            "card GPU-y0 (A100) of node y is not drained any more");
}

TEST_F(CordonTest, UncordonsACardThatWasReplaced) {
  rig_.add_node(
      "y", {testing::card("GPU-new")},
      ", tangram.dev/cordon: \"GPU-new,GPU-old=to be replaced\", tangram.dev/drain: GPU-old");
  EXPECT_EQ(done(uncordon_card(rig_.api, "GPU-old", "")),
            "node y lists no card GPU-old any more; its annotations do not name it now");
  EXPECT_EQ(annotation("y"), "GPU-new");
  EXPECT_EQ(drained("y"), "");
  EXPECT_EQ(uncordon_card(rig_.api, "GPU-old", "").error().code, Errc::kNotFound);
  // It came to another node.
  rig_.add_node("x", {testing::card("GPU-b0")});
  rig_.add_node("w", {}, ", tangram.dev/cordon: GPU-b0");
  EXPECT_EQ(done(uncordon_card(rig_.api, "GPU-b0", "")),
            "card GPU-b0 (A100) of node x is not cordoned");
  ASSERT_TRUE(uncordon_card(rig_.api, "w/GPU-b0", ""));
  EXPECT_EQ(annotation("w"), "");
  for (const char* node : {"u", "v"}) rig_.add_node(node, {}, ", tangram.dev/drain: GPU-c0");
  EXPECT_EQ(done(uncordon_card(rig_.api, "GPU-c0", "")),
            "error: 2 nodes have annotations with a card GPU-c0: u, v; find out which has it, and "
            "write the node too: u/GPU-c0 or v/GPU-c0");
}

TEST_F(CordonTest, TouchesNothingElse) {
  const std::string before = rig_.ask(testing::get_request("/api/v1/nodes/a")).body;
  ASSERT_TRUE(cordon_card(rig_.api, "GPU-a0", "", ""));
  ASSERT_TRUE(uncordon_card(rig_.api, "GPU-a0", ""));
  const std::string after = rig_.ask(testing::get_request("/api/v1/nodes/a")).body;
  for (const char* path : {"metadata.annotations", "metadata.labels", "spec", "status"}) {
    EXPECT_EQ(testing::json_at(after, path), testing::json_at(before, path)) << path;
  }
  EXPECT_EQ(patches(), 2U);
}

TEST_F(CordonTest, WritesOnceOnly) {
  ASSERT_TRUE(cordon_card(rig_.api, "GPU-a0", "a reason", ""));
  EXPECT_EQ(done(cordon_card(rig_.api, "GPU-a0", "", "")),
            "card GPU-a0 (A100) of node a is cordoned already");
  EXPECT_EQ(done(cordon_card(rig_.api, "GPU-a0", "a reason", "")),
            "card GPU-a0 (A100) of node a is cordoned already");
  EXPECT_EQ(patches(), 1U);
  ASSERT_TRUE(cordon_card(rig_.api, "GPU-a0", "a better one", ""));
  EXPECT_EQ(annotation(), "GPU-a0=a better one");
}

TEST_F(CordonTest, UncordonsWhatItsNameCordons) {
  ASSERT_TRUE(cordon_card(rig_.api, "GPU-a0", "", ""));
  EXPECT_EQ(done(uncordon_card(rig_.api, "GPU-a0", "")),
            "card GPU-a0 (A100) of node a uncordoned: within seconds it takes new pods");
  EXPECT_EQ(annotation(), "");
  EXPECT_EQ(done(uncordon_card(rig_.api, "GPU-a0", "")),
            "card GPU-a0 (A100) of node a is not cordoned");
}

TEST_F(CordonTest, SaysHowToUncordonWhatIsCordonedOtherwise) {
  model::Card mig = testing::card("MIG-1");
  mig.kind = model::CardKind::kMig;
  mig.parent = "GPU-parent";
  rig_.add_node("m", {mig}, ", tangram.dev/cordon: GPU-parent");
  EXPECT_NE(done(uncordon_card(rig_.api, "MIG-1", ""))
                .find("uncordon that: kubectl tangram uncordon-card GPU-parent"),
            std::string::npos);
  rig_.add_node("z", {testing::card("GPU-z0")}, ", tangram.dev/cordon: all");
  EXPECT_NE(done(uncordon_card(rig_.api, "GPU-z0", ""))
                .find("kubectl annotate node z tangram.dev/cordon-"),
            std::string::npos);
  model::Card other = testing::card("GPU-o0");
  other.cordoned = true;
  other.unavailable_reason = "cordoned: the node also has nvidia.com/gpu";
  rig_.add_node("o", {other});
  EXPECT_NE(done(uncordon_card(rig_.api, "GPU-o0", ""))
                .find("is not cordoned by an operator: cordoned: "
                      "the node also has nvidia.com/gpu"),
            std::string::npos);
  EXPECT_EQ(patches(), 0U);
}

/// Without them the command would undo it in another cluster.
TEST_F(CordonTest, CommandsInMessagesHaveTheFlagsOfThisOne) {
  const std::string flags = " --context=lab";
  EXPECT_NE(done(cordon_card(rig_.api, "GPU-a0", "", flags))
                .find("Undo: kubectl tangram uncordon-card --context=lab GPU-a0"),
            std::string::npos);
  rig_.add_node("z", {testing::card("GPU-z0")}, ", tangram.dev/cordon: all");
  EXPECT_NE(done(uncordon_card(rig_.api, "GPU-z0", flags))
                .find("kubectl --context=lab annotate node z tangram.dev/cordon-"),
            std::string::npos);
}

TEST_F(CordonTest, TakesAPhysicalCardThatIsListedByItsInstances) {
  model::Card mig = testing::card("MIG-1");
  mig.kind = model::CardKind::kMig;
  mig.parent = "GPU-parent";
  rig_.add_node("m", {mig});
  EXPECT_EQ(done(cordon_card(rig_.api, "GPU-parent", "", "")).substr(0, 57),
            "card GPU-parent (in MIG mode) of node m cordoned: within ");
  EXPECT_EQ(annotation("m"), "GPU-parent");
  EXPECT_NE(done(uncordon_card(rig_.api, "MIG-1", "")).find("uncordon-card GPU-parent"),
            std::string::npos);
  EXPECT_EQ(done(uncordon_card(rig_.api, "GPU-parent", "")),
            "card GPU-parent (in MIG mode) of node m uncordoned: within seconds it takes new pods");
  EXPECT_EQ(annotation("m"), "");
}

TEST_F(CordonTest, KnowsNoOtherCards) {
  const auto unknown = cordon_card(rig_.api, "GPU-x", "", "");
  EXPECT_EQ(unknown.error().code, Errc::kNotFound);
  EXPECT_NE(unknown.error().message.find("top -o wide"), std::string::npos);
  const auto part = cordon_card(rig_.api, "GPU-a", "", "");
  EXPECT_EQ(part.error().message,
            "no node lists a card GPU-a; write the whole UUID: GPU-a0, GPU-a1");
  for (const char* reason : {"a, b", "two\nlines"}) {
    EXPECT_EQ(cordon_card(rig_.api, "GPU-a0", reason, "").error().code, Errc::kInvalidArgument);
  }
  EXPECT_EQ(cordon_card(rig_.api, "GPU-a0", std::string(300, 'x'), "").error().code,
            Errc::kInvalidArgument);
  EXPECT_EQ(patches(), 0U);
}

TEST_F(CordonTest, RefusesACardThatSeveralNodesList) {
  rig_.add_node("z", {testing::card("GPU-a0")});
  const std::string refused =
      "error: 2 nodes list a card GPU-a0: a, z; find out which has it, and write the node too: "
      "a/GPU-a0 or z/GPU-a0";
  EXPECT_EQ(done(cordon_card(rig_.api, "GPU-a0", "", "")), refused);
  EXPECT_EQ(done(uncordon_card(rig_.api, "GPU-a0", "")), refused);
  EXPECT_EQ(cordon_card(rig_.api, "GPU-a0", "", "").error().code, Errc::kConflict);
  EXPECT_EQ(patches(), 0U);
}

TEST_F(CordonTest, TakesTheCardOfTheNamedNode) {
  rig_.add_node("z", {testing::card("GPU-a0")});
  EXPECT_EQ(done(cordon_card(rig_.api, "a/GPU-a0", "loud", "")),
            "card GPU-a0 (A100) of node a cordoned: within seconds it takes no new pods; its pods "
            "keep running. Undo: kubectl tangram uncordon-card a/GPU-a0");
  EXPECT_EQ(annotation("a"), "GPU-a0=loud");
  EXPECT_EQ(annotation("z"), "");
  EXPECT_EQ(done(cordon_card(rig_.api, "z/GPU-a1", "", "")),
            "error: no node z lists a card GPU-a1; `kubectl tangram top -o wide` shows the UUIDs");
  ASSERT_TRUE(uncordon_card(rig_.api, "a/GPU-a0", ""));
  EXPECT_EQ(annotation("a"), "");
}

/// Somebody else cordons the other card between the read and the write, so many times.
class Meddler final : public testing::PassingApi {
 public:
  Meddler(kube::KubeApi& server, int times) : PassingApi(server), left_(times) {}
  Result<kube::Response> call(const kube::Request& request) override {
    if (request.method == kube::Method::kPatch && left_-- > 0) {
      (void)PassingApi::call(
          testing::write_request(kube::Method::kPatch, "/api/v1/nodes/a",
                                 R"({"metadata":{"annotations":{"tangram.dev/cordon":"GPU-a1=)" +
                                     std::to_string(left_) + "\"}}}"));
    }
    return PassingApi::call(request);
  }

 private:
  int left_;
};

TEST_F(CordonTest, LosesNothingThatOthersWriteMeanwhile) {
  Meddler meddler(rig_.api, 2);
  ASSERT_TRUE(cordon_card(meddler, "GPU-a0", "", ""));
  EXPECT_EQ(annotation(), "GPU-a1=0,GPU-a0");
}

TEST_F(CordonTest, GivesUpWhereOthersNeverStop) {
  Meddler meddler(rig_.api, 1'000);
  const auto result = cordon_card(meddler, "GPU-a0", "", "");
  EXPECT_EQ(result.error().code, Errc::kConflict);
  EXPECT_NE(result.error().message.find("run the command again"), std::string::npos);
}

TEST_F(CordonTest, SaysWhichRightIsMissing) {
  testing::FaultApi api(rig_.api);
  api.will_answer({.method = kube::Method::kPatch}, 403);
  EXPECT_NE(done(cordon_card(api, "GPU-a0", "", "")).find("ClusterRole tangram-card-operator"),
            std::string::npos);
}

}  // namespace
}  // namespace tangram::cli
