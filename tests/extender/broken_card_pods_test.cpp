// Pods on broken cards: who is evicted, and when.

#include "extender/broken_card_pods.hpp"

#include "tests/extender/rig.hpp"
#include "tests/testing/passing_api.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <utility>

namespace tangram::extender {
namespace {

using namespace std::chrono_literals;
using Lines = std::vector<std::string>;

/// Does something as the nodes are read, once.
class ApiWithEvents final : public testing::PassingApi {
 public:
  using PassingApi::PassingApi;
  Result<kube::Response> call(const kube::Request& request) override {
    if (request.path == "/api/v1/nodes") std::exchange(while_reading_nodes, [] {})();
    return PassingApi::call(request);
  }
  std::function<void()> while_reading_nodes = [] {};
};

/// Node a with two cards and node b with one. Pods of a ReplicaSet have halves of card a-0.
class BrokenCardPodsTest : public ::testing::Test {
 protected:
  BrokenCardPodsTest() {
    rig_.add_node("a", 2);
    rig_.add_node("b", 1);
    set_slots("a", 16);
    set_slots("b", 16);
    evictor_.emplace(
        EvictorSettings{.after = 300s, .per_minute = 20},
        Evictor::Parts{
            .api = rig_.api,
            .clock = rig_.clock,
            .may_write = [this](auto) { return leads_; },
            .report = [this](const cluster::PodName& pod,
                             const std::string& why) { reports_.push_back(pod.name + ": " + why); },
            .obstacle =
                [this](const EvictionCase& one) { return pods_.obstacle(one, rig_.ledger); },
            .evicted = [this](const EvictionCase& one) { pods_.evicted(one); }});
  }
  void bound(const std::string& name, const std::string& fraction, const std::string& node,
             const std::string& owner = "ReplicaSet", const std::string& more_spec = "") {
    std::string text =
        testing::pod_json({.name = name, .annotations = {{"tangram.dev/gpu-fraction", fraction}}});
    if (!owner.empty()) {
      const std::string at = R"("metadata":{)";
      text.insert(text.find(at) + at.size(),
                  R"("ownerReferences":[{"apiVersion":"apps/v1","controller":true,"kind":")" +
                      owner + R"(","name":"work","uid":"w"}],)");
    }
    if (!more_spec.empty()) {
      const std::string at = R"("spec":{)";
      text.insert(text.find(at) + at.size(), more_spec + ",");
    }
    const auto made =
        rig_.ask(testing::write_request(kube::Method::kPost, "/api/v1/namespaces/ml/pods", text));
    rig_.show(name);
    EXPECT_EQ(rig_.bind(name, testing::json_at(made.body, "metadata.uid"), node).outcome,
              BindOutcome::kBound);
    rig_.show(name);
  }
  void set_slots(const std::string& node, int slots) {
    rig_.ask(testing::write_request(
        kube::Method::kPatch, "/api/v1/nodes/" + node + "/status",
        R"({"status":{"allocatable":{"tangram.dev/gpu-slot":")" + std::to_string(slots) + "\"}}}"));
    rig_.sync();
  }
  /// @param spec  of the node, or null to take it away again
  void set_spec(const std::string& node, const std::string& spec) {
    rig_.ask(testing::write_request(kube::Method::kPatch, "/api/v1/nodes/" + node,
                                    R"({"spec":)" + spec + "}"));
  }
  void annotate_node(const std::string& node, const std::string& annotation,
                     const std::string& value) {
    std::string text;
    json::Writer out(text);
    out.begin_object().key("metadata").begin_object().key("annotations").begin_object();
    out.member(annotation, value).end_object().end_object().end_object();
    rig_.ask(testing::write_request(kube::Method::kPatch, "/api/v1/nodes/" + node, text));
    rig_.sync();
  }
  void break_card(bool healthy = false) {
    std::vector<model::Card> cards{testing::card("a-0"), testing::card("a-1")};
    cards[0].healthy = healthy;
    if (!healthy) cards[0].unavailable_reason = "XID 79";
    annotate_node("a", "tangram.dev/cards", model::encode_cards(cards));
  }
  void look_for(std::chrono::seconds time) {
    for (auto passed = 0s; passed < time; passed += 1s) {
      evictor_->look(pods_.look(*rig_.ledger.snapshot(), leads_));
      for (const std::string& name : leaving()) rig_.show(name);
      rig_.clock.advance(1s);
    }
  }
  Lines leaving() {
    Lines names;
    for (const std::string& text : rig_.list("/api/v1/pods")) {
      if (testing::json_at(text, "metadata.deletionTimestamp") != "<none>") {
        names.push_back(testing::json_at(text, "metadata.name"));
      }
    }
    return names;
  }

  Rig rig_;
  bool leads_ = true;
  Lines reports_;
  ApiWithEvents api_{rig_.api};
  BrokenCardPods pods_{{.api = api_,
                        .clock = rig_.clock,
                        .policies = rig_.policies,
                        .pods = rig_.table,
                        .api_timeout = 4s}};
  std::optional<Evictor> evictor_;
};

TEST_F(BrokenCardPodsTest, AreEvictedOneAfterTheOther) {
  bound("p", "0.5", "a");
  bound("q", "0.5", "a");
  break_card();
  look_for(300s);
  EXPECT_EQ(leaving(), Lines{});
  look_for(2s);
  EXPECT_EQ(leaving().size(), 1U);
  look_for(4s);
  EXPECT_EQ(leaving(), (Lines{"p", "q"}));
  ASSERT_EQ(reports_.size(), 2U);
  EXPECT_EQ(reports_.front(),
            "p: its card a-0 is unhealthy: XID 79; it is evicted, so that ReplicaSet work makes "
            "another one, which is placed anew");
}

TEST_F(BrokenCardPodsTest, StayIfTheCardRecovers) {
  bound("p", "0.5", "a");
  break_card();
  look_for(299s);
  break_card(true);
  look_for(10s);
  break_card();
  look_for(299s);
  EXPECT_EQ(leaving(), Lines{});
}

TEST_F(BrokenCardPodsTest, StayWhileNothingElseHasRoom) {
  bound("p", "1", "a");
  bound("other", "1", "a");
  bound("full", "1", "b");
  break_card();
  look_for(310s);
  EXPECT_EQ(leaving(), Lines{});
  EXPECT_EQ(reports_, Lines{"p: its card a-0 is unhealthy: XID 79; it stays for now, because no "
                            "other card has room for the pod that would replace it"});
  rig_.end_pod("full");
  look_for(30s);
  EXPECT_EQ(leaving(), Lines{"p"});
}

TEST_F(BrokenCardPodsTest, LeaveNoMoreAtATimeThanFindPlaces) {
  bound("p", "1", "a");
  bound("other", "1", "a");
  bound("q", "0.5", "b");
  std::vector<model::Card> cards{testing::card("a-0"), testing::card("a-1")};
  for (model::Card& card : cards) card.healthy = false;
  annotate_node("a", "tangram.dev/cards", model::encode_cards(cards));
  rig_.end_pod("q");
  look_for(300s + BrokenCardPods::kUntilPlaced);
  EXPECT_EQ(leaving().size(), 1U) << "b has room for one of them";
}

TEST_F(BrokenCardPodsTest, StayWhileNoNodeWithRoomTakesTheNextPod) {
  bound("p", "1", "a");
  bound("other", "1", "a");
  const std::string stays =
      "p: its card a-0 is unhealthy: XID 79; it stays for now, because no node with room on a card "
      "takes the pod that would replace it: it is cordoned, tainted, not ready, without slots, or "
      "not of the pod's node selector or affinity";
  set_spec("b", R"({"unschedulable":true})");
  break_card();
  look_for(310s);
  EXPECT_EQ(reports_, Lines{stays});
  set_spec("b", R"({"unschedulable":null,"taints":[{"key":"gpu","effect":"NoSchedule"}]})");
  look_for(300s);
  EXPECT_EQ(leaving(), Lines{});
  set_spec("b", R"({"taints":null})");
  set_slots("b", 0);  // its agent does not run
  look_for(300s);
  EXPECT_EQ(leaving(), Lines{});
  set_slots("b", 16);
  look_for(300s);
  EXPECT_EQ(leaving(), Lines{"p"});
}

TEST_F(BrokenCardPodsTest, StayUntilTheNodesCanBeRead) {
  bound("p", "0.5", "a");
  break_card();
  rig_.api.plan().add({.match = {.method = kube::Method::kGet, .path_ends = "/nodes"},
                       .fault = {.kind = testing::Fault::Kind::kAnswer, .status = 503},
                       .times = 2});
  look_for(310s);
  EXPECT_EQ(leaving(), Lines{});
  EXPECT_EQ(reports_, Lines{"p: its card a-0 is unhealthy: XID 79; it stays until the nodes can be "
                            "read again"});
  look_for(60s);
  EXPECT_EQ(leaving(), Lines{"p"});
}

/// What they say about other pods is kube-scheduler's alone: else such a pod could never leave.
TEST_F(BrokenCardPodsTest, LeaveThoughTheyMustNotRunBesideOthersIfANodeHasTheirLabel) {
  bound("p", "0.5", "a", "ReplicaSet",
        R"("affinity":{"podAntiAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[)"
        R"({"topologyKey":"kubernetes.io/hostname"}]},"nodeAffinity":{)"
        R"("requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[)"
        R"({"matchExpressions":[{"key":"pool","operator":"In","values":["ml"]},)"
        R"({"key":"memory","operator":"Gt","values":["40000"]}]}]}}})");
  break_card();
  look_for(310s);
  EXPECT_EQ(leaving(), Lines{}) << "no node has the label";
  rig_.ask(testing::write_request(kube::Method::kPatch, "/api/v1/nodes/b",
                                  R"({"metadata":{"labels":{"pool":"ml"}}})"));
  look_for(90s);
  EXPECT_EQ(leaving(), Lines{"p"});
}

TEST_F(BrokenCardPodsTest, StayIfTheCardRecoversWhileTheNodesAreRead) {
  bound("p", "0.5", "a");
  break_card();
  api_.while_reading_nodes = [this] { break_card(true); };
  look_for(330s);
  EXPECT_EQ(leaving(), Lines{});
  EXPECT_EQ(reports_, Lines{"p: its card a-0 is unhealthy: XID 79; it stays, because its card can "
                            "be used again"});
}

TEST_F(BrokenCardPodsTest, ReadTheNodesOnlyWhereTheLedgerHasRoom) {
  bound("p", "1", "a");
  bound("other", "1", "a");
  bound("full", "1", "b");
  break_card();
  look_for(600s);
  const testing::CallMatch nodes{.method = kube::Method::kGet, .path_ends = "/nodes"};
  EXPECT_EQ(rig_.api.calls(nodes).size(), 0U);
  rig_.end_pod("full");
  look_for(300s);
  EXPECT_EQ(leaving(), Lines{"p"});
  EXPECT_EQ(rig_.api.calls(nodes).size(), 1U);
}

TEST_F(BrokenCardPodsTest, AreOnlyReportedWhereNothingReplacesThem) {
  bound("bare", "0.5", "a", "");
  bound("daemon", "0.5", "a", "DaemonSet");
  break_card();
  look_for(310s);
  EXPECT_EQ(leaving(), Lines{});
  EXPECT_EQ(reports_, (Lines{"bare: its card a-0 is unhealthy: XID 79; no controller replaces it: "
                             "delete the pod and create it again",
                             "daemon: its card a-0 is unhealthy: XID 79; delete the pod, so that "
                             "DaemonSet work makes another one"}));
}

TEST_F(BrokenCardPodsTest, LeaveADrainedCardAtOnce) {
  bound("p", "0.5", "a");
  annotate_node("a", "tangram.dev/drain", " a-0 = to be replaced");
  look_for(10s);
  EXPECT_EQ(leaving(), Lines{}) << "the agent has not cordoned it yet";
  std::vector<model::Card> cards{testing::card("a-0"), testing::card("a-1")};
  cards[0].cordoned = true;
  annotate_node("a", "tangram.dev/cards", model::encode_cards(cards));
  look_for(1s);
  EXPECT_EQ(leaving(), Lines{"p"});
}

TEST_F(BrokenCardPodsTest, AreNotReadByAReplicaThatDoesNotLeadButItKnowsSinceWhen) {
  bound("p", "0.5", "a");
  break_card();
  leads_ = false;
  const std::size_t before = rig_.api.calls().size();
  look_for(400s);
  EXPECT_EQ(rig_.api.calls().size(), before);
  leads_ = true;
  look_for(1s);
  EXPECT_EQ(leaving(), Lines{"p"});
}

}  // namespace
}  // namespace tangram::extender
