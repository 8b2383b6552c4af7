#include "cluster/views.hpp"

#include "base/rapidjson.hpp"
#include "tests/extender/rig.hpp"
#include "tests/testing/pod_group_text.hpp"

#include <gtest/gtest.h>

namespace tangram::cluster {
namespace {

/// A view, parsed by another reader than the one of the project.
class Json {
 public:
  explicit Json(const std::string& text) {
    document_.Parse(text.c_str());
    if (document_.HasParseError()) throw std::runtime_error("not JSON: " + text);
  }
  [[nodiscard]] const rapidjson::Value& at(const char* pointer) const {
    const auto* value = rapidjson::Pointer(pointer).Get(document_);
    if (value == nullptr) throw std::runtime_error(std::string("no ") + pointer);
    return *value;
  }
  [[nodiscard]] bool has(const char* pointer) const {
    return rapidjson::Pointer(pointer).Get(document_) != nullptr;
  }
  [[nodiscard]] std::int64_t number(const char* pointer) const { return at(pointer).GetInt64(); }
  [[nodiscard]] std::string text(const char* pointer) const { return at(pointer).GetString(); }
  [[nodiscard]] bool truth(const char* pointer) const { return at(pointer).GetBool(); }
  [[nodiscard]] std::size_t size(const char* pointer) const { return at(pointer).Size(); }

 private:
  rapidjson::Document document_;
};

/// Node a with two cards, b with one.
class ViewsTest : public ::testing::Test {
 protected:
  ViewsTest() {
    rig_.add_node("a", 2);
    rig_.add_node("b", 1);
    rig_.sync();
  }
  std::string wait(const std::string& name, const std::map<std::string, std::string>& annotations) {
    std::string uid = rig_.add_pod(name, annotations);
    rig_.show(name);
    return uid;
  }
  std::string bound(const std::string& name, const std::string& fraction, const std::string& node) {
    return bound(name, {{"tangram.dev/gpu-fraction", fraction}}, node);
  }
  std::string bound(const std::string& name, const std::map<std::string, std::string>& annotations,
                    const std::string& node) {
    std::string uid = wait(name, annotations);
    EXPECT_EQ(rig_.bind(name, uid, node).outcome, extender::BindOutcome::kBound);
    rig_.show(name);
    return uid;
  }
  Json cluster() { return Json(cluster_json(*rig_.ledger.snapshot(), rig_.table)); }
  Result<std::string> explain(const std::string& name, const std::string& ns = "ml") {
    return explain_json(ns, name, *rig_.ledger.snapshot(), rig_.table, rig_.policies);
  }
  extender::Rig rig_;
};

TEST_F(ViewsTest, ShowsEveryNodeCardAndShare) {
  const std::string uid = bound("p", "0.25", "a");
  const Json view = cluster();
  ASSERT_EQ(view.size("/nodes"), 2U);
  EXPECT_EQ(view.text("/nodes/0/name"), "a");
  EXPECT_TRUE(view.truth("/nodes/0/present"));
  EXPECT_EQ(view.number("/nodes/0/cpuMilli"), 7'900);
  EXPECT_EQ(view.number("/nodes/0/freeCpuMilli"), 6'900);
  EXPECT_EQ(view.number("/nodes/0/memMiB"), 31 * 1'024);
  EXPECT_EQ(view.number("/nodes/0/freeMemMiB"), 30 * 1'024);
  EXPECT_EQ(view.number("/nodes/0/pods"), 1);
  ASSERT_EQ(view.size("/nodes/0/cards"), 2U);
  EXPECT_EQ(view.text("/nodes/0/cards/0/uuid"), "a-0");
  EXPECT_EQ(view.text("/nodes/0/cards/0/model"), "A100");
  EXPECT_EQ(view.number("/nodes/0/cards/0/memMiB"), 81'920);
  EXPECT_EQ(view.number("/nodes/0/cards/0/grantedMemMiB"), 20'480);
  EXPECT_EQ(view.number("/nodes/0/cards/0/freeMemMiB"), 61'440);
  EXPECT_EQ(view.number("/nodes/0/cards/0/grantedMilli"), 250);
  EXPECT_EQ(view.number("/nodes/0/cards/0/freeMilli"), 750);
  EXPECT_EQ(view.number("/nodes/0/cards/0/sharers"), 1);
  EXPECT_EQ(view.text("/nodes/0/cards/0/isolation"), "mps");
  EXPECT_EQ(view.text("/nodes/0/cards/0/memoryLimits"), "none");
  EXPECT_EQ(view.text("/nodes/0/cards/0/pods/0/memoryLimits"), "none");
  EXPECT_EQ(view.text("/nodes/0/cards/0/pods/0/uid"), uid);
  EXPECT_EQ(view.text("/nodes/0/cards/0/pods/0/name"), "p");
  EXPECT_EQ(view.text("/nodes/0/cards/0/pods/0/container"), "main");
  EXPECT_EQ(view.number("/nodes/0/cards/0/pods/0/milli"), 250);
  EXPECT_TRUE(view.at("/nodes/0/cards/1/isolation").IsNull());
  EXPECT_EQ(view.size("/nodes/0/cards/1/pods"), 0U);
  EXPECT_EQ(view.size("/pending"), 0U);
}

TEST_F(ViewsTest, ShowsThePodsThatWait) {
  const std::string uid = wait("p", {{"tangram.dev/gpu-fraction", "1"}});
  const Json view = cluster();
  ASSERT_EQ(view.size("/pending"), 1U);
  EXPECT_EQ(view.text("/pending/0/namespace"), "ml");
  EXPECT_EQ(view.text("/pending/0/name"), "p");
  EXPECT_EQ(view.text("/pending/0/uid"), uid);
}

TEST_F(ViewsTest, ShowsAnEmptyCluster) {
  const extender::Rig empty;
  const Json view(cluster_json(*empty.ledger.snapshot(), empty.table));
  EXPECT_EQ(view.size("/nodes"), 0U);
  EXPECT_EQ(view.size("/pending"), 0U);
}

TEST_F(ViewsTest, ShowsANodeThatLeftAndItsStrayGrants) {
  bound("p", "0.25", "a");
  rig_.nodes.change(kube::EventType::kDeleted, extender::Rig::node_text("a", 2));
  const Json view = cluster();
  EXPECT_FALSE(view.truth("/nodes/0/present"));
  EXPECT_EQ(view.number("/nodes/0/strayGrants"), 1);
  EXPECT_EQ(view.size("/nodes/0/cards"), 0U);
  EXPECT_FALSE(view.has("/nodes/1/strayGrants"));
}

TEST_F(ViewsTest, StaysJsonWhateverNamesSay) {
  model::Card odd = testing::card("GPU-\"1\"\n", "T4 \\ \x01 \xe5\x8d\xa1");
  odd.healthy = false;
  odd.unavailable_reason = "fell off the \"bus\"";
  rig_.ledger.apply(
      [&](model::Ledger& ledger) { ledger.put_node(testing::inventory("a", {odd})); });
  const Json view = cluster();
  EXPECT_EQ(view.text("/nodes/0/cards/0/uuid"), "GPU-\"1\"\n");
  EXPECT_EQ(view.text("/nodes/0/cards/0/reason"), "fell off the \"bus\"");
  EXPECT_FALSE(view.truth("/nodes/0/cards/0/healthy"));
}

TEST_F(ViewsTest, ExplainsWhereAWaitingPodWouldGoAndWhyNotElsewhere) {
  bound("full", "1", "b");
  bound("some", "0.75", "a");
  wait("p", {{"tangram.dev/gpu-fraction", "0.5"}});
  const auto text = explain("p");
  ASSERT_TRUE(text) << text.error().message;
  const Json view(*text);
  EXPECT_EQ(view.text("/state"), "pending");
  EXPECT_EQ(view.text("/policy"), "binpack");
  EXPECT_EQ(view.text("/request/containers/0/share"), "fraction");
  EXPECT_EQ(view.number("/request/containers/0/milli"), 500);
  EXPECT_EQ(view.number("/fittingNodes"), 1);
  EXPECT_TRUE(view.truth("/nodes/0/fits"));
  EXPECT_EQ(view.size("/nodes/0/wouldGet"), 1U);
  EXPECT_EQ(view.text("/nodes/0/wouldGet/0"), "a-1");
  EXPECT_FALSE(view.truth("/nodes/0/cards/0/containers/0/fits"));
  EXPECT_EQ(view.number("/nodes/0/cards/0/containers/0/needMilli"), 500);
  EXPECT_EQ(view.number("/nodes/0/cards/0/freeMilli"), 250);
  EXPECT_EQ(view.text("/nodes/0/cards/0/containers/0/why"),
            "no GPU card has enough free memory and compute");
  EXPECT_TRUE(view.truth("/nodes/0/cards/1/containers/0/fits"));
  EXPECT_FALSE(view.truth("/nodes/1/fits"));
  EXPECT_EQ(view.text("/nodes/1/why"), "no GPU card has enough free memory and compute");
}

TEST_F(ViewsTest, ExplainsOnlyTheNodesThatFitBest) {
  bound("some", "0.25", "b");
  bound("full", "1", "a");
  rig_.add_node("c", 1);
  rig_.add_node("d", 0);
  rig_.sync();
  wait("p", {{"tangram.dev/gpu-fraction", "0.5"}});
  const auto explained = [&](std::size_t most) {
    const auto text =
        explain_json("ml", "p", *rig_.ledger.snapshot(), rig_.table, rig_.policies, most);
    EXPECT_TRUE(text) << text.error().message;
    return Json(*text);
  };
  const Json all = explained(10);
  ASSERT_EQ(all.size("/nodes"), 3U) << "d does not fit";
  EXPECT_GE(all.number("/nodes/0/score"), all.number("/nodes/1/score"));
  EXPECT_GE(all.number("/nodes/1/score"), all.number("/nodes/2/score"));
  EXPECT_EQ(all.number("/fittingNodes"), 3);
  ASSERT_EQ(all.size("/reasons"), 1U);
  EXPECT_EQ(all.number("/reasons/0/nodes"), 1);
  for (const std::size_t most : {0U, 1U, 2U}) {
    const Json few = explained(most);
    ASSERT_EQ(few.size("/nodes"), most);
    EXPECT_EQ(few.number("/fittingNodes"), 3);
    if (most > 0) {
      EXPECT_EQ(few.text("/nodes/0/name"), all.text("/nodes/0/name"));
    }
  }
}

TEST_F(ViewsTest, NamesThePodsThatWouldBeEvicted) {
  for (const char* name : {"left-a", "right-a"}) bound(name, "0.6", "a");
  bound("left-b", "0.6", "b");
  testing::PodText urgent;
  urgent.name = "urgent";
  urgent.annotations = {{"tangram.dev/gpu-fraction", "0.8"}};
  urgent.priority = 100;
  rig_.add_pod(urgent);
  rig_.show("urgent");
  wait("p", {{"tangram.dev/gpu-fraction", "0.8"}});
  const auto explained = [&](const char* pod, const BudgetList* budgets) {
    return Json(*explain_json("ml", pod, *rig_.ledger.snapshot(), rig_.table, rig_.policies,
                              std::nullopt, {.budgets = budgets}));
  };
  const BudgetList none;
  const Json view = explained("urgent", &none);
  EXPECT_EQ(view.text("/preemption/node"), "a");
  ASSERT_EQ(view.size("/preemption/victims"), 1U);
  EXPECT_EQ(view.text("/preemption/victims/0/name"), "left-a");
  EXPECT_EQ(view.number("/preemption/victims/0/priority"), 0);
  EXPECT_FALSE(explained("urgent", nullptr).has("/preemption"));
  EXPECT_FALSE(explained("p", &none).has("/preemption")) << "of the same priority";
}

TEST_F(ViewsTest, NamesTheRoomThatIsMadeForAPod) {
  for (const char* name : {"left-a", "right-a"}) bound(name, "0.6", "a");
  wait("p", {{"tangram.dev/gpu-fraction", "0.8"}});
  const auto room = [](std::string_view) {
    return std::optional(RoomBeingMade{.by = "moves", .node = "a", .leaving = {"left-a", "gone"}});
  };
  const BudgetList none;
  const Json view(*explain_json("ml", "p", *rig_.ledger.snapshot(), rig_.table, rig_.policies,
                                std::nullopt, {.budgets = &none, .room = room}));
  EXPECT_EQ(view.text("/room/by"), "moves");
  EXPECT_EQ(view.text("/room/node"), "a");
  EXPECT_EQ(view.number("/room/pods"), 2);
  EXPECT_EQ(view.number("/room/left"), 2) << "these are no UIDs of pods there";
  EXPECT_FALSE(view.has("/preemption"));
}

TEST_F(ViewsTest, NamesTheMemberOfAGroupThatLacksRoom) {
  rig_.pod_groups.change(kube::EventType::kAdded, testing::pod_group_json("g", 4));
  for (const char* name : {"g-0", "g-1", "g-2", "g-3"}) {
    testing::PodText member;
    member.name = name;
    member.annotations = {{"tangram.dev/gpu-fraction", "0.6"}};
    member.group = "g";
    rig_.add_pod(member);
    rig_.show(name);
  }
  const auto explained = [&] {
    return Json(*explain_json("ml", "g-1", *rig_.ledger.snapshot(), rig_.table, rig_.policies,
                              std::nullopt, {.groups = &rig_.pod_groups}));
  };
  const Json view = explained();
  EXPECT_EQ(view.text("/group/kind"), "PodGroup");
  EXPECT_EQ(view.text("/group/name"), "g");
  EXPECT_EQ(view.number("/group/bound"), 0);
  EXPECT_EQ(view.number("/group/waiting"), 4);
  EXPECT_EQ(view.number("/group/minimum"), 4);
  EXPECT_EQ(view.number("/group/haveRoom"), 3) << "one on each card";
  EXPECT_EQ(view.text("/group/lacking/pod"), "ml/g-3");
  EXPECT_EQ(view.text("/group/lacking/why"), "no GPU card has enough free memory and compute");
  EXPECT_EQ(
      view.text("/group/summary"),
      "it belongs to the PodGroup g, of which 0 members have a node and 4 must. Of 4 that "
      "wait, 3 find room at the same time; the next, ml/g-3, does not: no GPU card has enough "
      "free memory and compute");
  rig_.add_node("c");
  rig_.sync();
  EXPECT_EQ(explained().number("/group/haveRoom"), 4);
  EXPECT_FALSE(explained().has("/group/lacking"));
}

TEST_F(ViewsTest, ExplainsWhatItWouldDoAsBindThenDoesIt) {
  bound("some", "0.5", "a");
  const std::string uid =
      wait("p", {{"tangram.dev/gpu-mem", "8Gi"}, {"tangram.dev/gpu-compute", "0.3"}});
  const auto text = explain("p");
  ASSERT_TRUE(text);
  const std::string card = Json(*text).text("/nodes/0/wouldGet/0");
  ASSERT_EQ(rig_.bind("p", uid, "a").outcome, extender::BindOutcome::kBound);
  EXPECT_EQ(rig_.grant_of("p")->containers.at(0).cards.at(0).uuid, card);
}

TEST_F(ViewsTest, ExplainsWhatABoundPodHolds) {
  const std::string uid = bound("p", "0.25", "a");
  const auto text = explain("p");
  ASSERT_TRUE(text) << text.error().message;
  const Json view(*text);
  EXPECT_EQ(view.text("/state"), "bound");
  EXPECT_EQ(view.text("/uid"), uid);
  EXPECT_EQ(view.text("/node"), "a");
  EXPECT_EQ(view.text("/containers/0/name"), "main");
  EXPECT_EQ(view.text("/containers/0/cards/0/uuid"), "a-0");
  EXPECT_EQ(view.number("/containers/0/cards/0/milli"), 250);
  EXPECT_EQ(view.number("/containers/0/cards/0/memMiB"), 20'480);
  EXPECT_EQ(view.number("/containers/0/cards/0/memLimitMiB"), 20'480);
  EXPECT_EQ(view.text("/containers/0/cards/0/memoryLimits"), "none");
}

TEST_F(ViewsTest, SaysByWhatMemoryIsLimited) {
  rig_.ledger.apply([](model::Ledger& ledger) {
    model::Card card = testing::card("a-0");
    card.memory_limits = model::MemoryLimits::kLibrary;
    ledger.put_node(testing::inventory("a", {card}));
  });
  bound("p", {{"tangram.dev/gpu-fraction", "0.25"}, {"tangram.dev/gpu-memory-limits", "mps"}}, "a");
  EXPECT_EQ(Json(explain("p").value()).text("/containers/0/cards/0/memoryLimits"), "library");
  const Json view = cluster();
  EXPECT_EQ(view.text("/nodes/0/cards/0/memoryLimits"), "library");
  EXPECT_EQ(view.text("/nodes/0/cards/0/pods/0/memoryLimits"), "library");
}

TEST_F(ViewsTest, ExplainsWhichMemoryLimitsThePodRequiresAndTheCardsHave) {
  wait("p", {{"tangram.dev/gpu-fraction", "0.25"}, {"tangram.dev/gpu-memory-limits", "driver"}});
  const Json view(explain("p").value());
  EXPECT_EQ(view.text("/request/memoryLimits"), "driver");
  EXPECT_EQ(view.text("/nodes/0/cards/0/memoryLimits"), "none");
  EXPECT_EQ(view.text("/nodes/0/why"),
            "GPU cards do not enforce memory limits by the required means");
  EXPECT_NE(view.text("/summary").find("requires memory limits by driver at least"),
            std::string::npos)
      << view.text("/summary");
}

TEST_F(ViewsTest, SaysThatThereIsNoSuchPod) {
  bound("p", "0.25", "a");
  for (const auto& unknown : {explain("q"), explain("p", "other"), explain("", "")}) {
    ASSERT_FALSE(unknown);
    EXPECT_EQ(unknown.error().code, Errc::kNotFound);
  }
}

TEST_F(ViewsTest, SaysWhatIsWrongWithAPodsAnnotations) {
  wait("bad", {{"tangram.dev/gpu-fraction", "1.5"}});
  const auto text = explain("bad");
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().code, Errc::kInvalidArgument);
  EXPECT_NE(text.error().message.find("gpu-fraction"), std::string::npos);
}

TEST_F(ViewsTest, ExplainsThatAPodWaitsForACardItNames) {
  wait("p", {{"tangram.dev/gpu-fraction", "0.5"}, {"tangram.dev/gpu-uuid", "a-1"}});
  const auto text = explain("p");
  ASSERT_TRUE(text) << text.error().message;
  const Json view(*text);
  EXPECT_EQ(view.text("/request/uuids/0"), "a-1");
  EXPECT_EQ(view.number("/fittingNodes"), 1);
  EXPECT_EQ(view.text("/nodes/0/wouldGet/0"), "a-1");
  EXPECT_EQ(view.text("/nodes/1/why"), "node has too few of the GPU cards that the pod names");
}

/// What the view says of the fragmentation of node `a`.
void expect_fragmented(const Result<std::string>& text, bool fragmented) {
  ASSERT_TRUE(text) << text.error().message;
  const Json view(*text);
  EXPECT_EQ(view.text("/nodes/0/why"), "no GPU card has enough free memory and compute");
  EXPECT_EQ(view.truth("/nodes/0/fragmented"), fragmented);
  EXPECT_EQ(view.text("/summary").find("would do together") != std::string::npos, fragmented)
      << view.text("/summary");
}

TEST_F(ViewsTest, SaysThatTheFreePartsOfCardsWouldDoTogether) {
  bound("first", "0.75", "a");
  bound("second", "0.75", "a");
  wait("p", {{"tangram.dev/gpu-fraction", "0.5"}, {"tangram.dev/gpu-uuid", "a-*"}});
  expect_fragmented(explain("p"), true);
}

TEST_F(ViewsTest, IsNotFragmentedByACardThatThePodDoesNotName) {
  bound("full", "1", "a");
  wait("p", {{"tangram.dev/gpu-fraction", "0.5"}, {"tangram.dev/gpu-uuid", "a-0"}});
  expect_fragmented(explain("p"), false);
}

TEST_F(ViewsTest, IsNotFragmentedByACardOfAnotherModel) {
  rig_.ledger.apply([&](model::Ledger& ledger) {
    ledger.put_node(testing::inventory("a", {testing::card("a-0"), testing::card("a-1", "H100")}));
  });
  bound("full", {{"tangram.dev/gpu-fraction", "1"}, {"tangram.dev/gpu-model", "A100"}}, "a");
  wait("p", {{"tangram.dev/gpu-fraction", "0.5"}, {"tangram.dev/gpu-model", "A100"}});
  expect_fragmented(explain("p"), false);
}

TEST_F(ViewsTest, IsNotFragmentedByACardInAnotherMode) {
  bound("most", "0.75", "a");
  bound("other",
        {{"tangram.dev/gpu-fraction", "0.25"}, {"tangram.dev/gpu-isolation", "time-slice"}}, "a");
  wait("p", {{"tangram.dev/gpu-fraction", "0.5"}});
  expect_fragmented(explain("p"), false);
}

TEST_F(ViewsTest, SaysWhetherASchedulerHasTriedThePod) {
  const std::string uid = wait("p", {{"tangram.dev/gpu-fraction", "0.5"}});
  EXPECT_FALSE(Json(explain("p").value()).truth("/tried"));
  rig_.table.answered(uid, Wait::kRoom);
  EXPECT_TRUE(Json(explain("p").value()).truth("/tried")) << "this replica was asked";
}

TEST_F(ViewsTest, CountsTheNodesThatLackCpu) {
  rig_.ledger.apply([](model::Ledger& ledger) {
    model::NodeInventory small = testing::inventory("b", {testing::card("b-0")});
    small.cpu = MilliCpu(500);
    ledger.put_node(small);
  });
  wait("p", {{"tangram.dev/gpu-fraction", "0.5"}});
  const Json view(explain("p").value());
  EXPECT_EQ(view.number("/fittingNodes"), 2);
  EXPECT_FALSE(view.has("/nodes/0/blocked"));
  EXPECT_TRUE(view.truth("/nodes/1/fits"));
  EXPECT_EQ(view.text("/nodes/1/blocked"), "node has too little free CPU");
  ASSERT_EQ(view.size("/blocked"), 1U);
  EXPECT_EQ(view.text("/blocked/0/why"), "node has too little free CPU");
  EXPECT_EQ(view.number("/blocked/0/nodes"), 1);
}

TEST_F(ViewsTest, SaysWhichModesACardOffers) {
  rig_.ledger.apply([](model::Ledger& ledger) {
    model::Card card = testing::card("b-0");
    card.isolation = {model::Isolation::kTimeSlice, model::Isolation::kNone};
    ledger.put_node(testing::inventory("b", {card}));
  });
  wait("p", {{"tangram.dev/gpu-fraction", "0.5"}});
  const Json view(explain("p").value());
  ASSERT_EQ(view.size("/nodes/1/cards/0/offers"), 2U);
  EXPECT_EQ(view.text("/nodes/1/cards/0/offers/0"), "time-slice");
  EXPECT_EQ(view.text("/nodes/1/cards/0/offers/1"), "none");
}

TEST_F(ViewsTest, NamesTheKeyOfAGrant) {
  bound("p", "0.25", "a");
  EXPECT_EQ(Json(explain("p").value()).text("/grantKey"), "unsigned");
}

TEST_F(ViewsTest, ExplainsAPodThatAsksForNoCard) {
  wait("cpu", {});
  const auto text = explain("cpu");
  ASSERT_TRUE(text) << text.error().message;
  const Json view(*text);
  EXPECT_EQ(view.number("/fittingNodes"), 2);
  EXPECT_EQ(view.size("/request/containers"), 0U);
}

}  // namespace
}  // namespace tangram::cluster
