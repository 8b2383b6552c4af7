#include "node/publish/node_record.hpp"

#include "kube/json_doc.hpp"
#include "model/cards.hpp"
#include "tests/testing/builders.hpp"
#include "tests/testing/kube_builders.hpp"

#include <gtest/gtest.h>

namespace tangram::node {
namespace {

using testing::card;
using testing::json_at;

CardsNow installed(const std::vector<model::Card>& cards) {
  CardsNow now;
  now.answers = true;
  for (const model::Card& one : cards) now.inventory.cards.emplace_back().card = one;
  return now;
}

OwnNode bare_node() {
  OwnNode node;
  node.name = "gpu-1";
  node.uid = "u-1";
  node.version = "7";
  return node;
}

/// A node at which nothing is left to write.
OwnNode published(const NodeRecord& record) {
  OwnNode node = bare_node();
  node.cards = model::encode_cards(record.cards);
  node.gpu_label = "true";
  node.model_label = record.model_label;
  node.milli = KubeQuantity::parse(std::to_string(record.capacity->milli.count())).value();
  node.memory = KubeQuantity::parse(std::to_string(record.capacity->memory.count())).value();
  return node;
}

NodeRecord record(const CardsNow& now, const OwnNode& node = bare_node(),
                  const CardRequests& requested = {}, const RecordSettings& settings = {}) {
  const auto made = record_of(now, node, {.requested = requested}, {}, settings);
  EXPECT_TRUE(made.has_value()) << made.error().message;
  return made ? *made : NodeRecord{};
}

model::Card instance(std::string id, std::string parent) {
  model::Card mig = card(std::move(id), "A100 MIG 1g.10gb", Mebibytes(9'728));
  mig.kind = model::CardKind::kMig;
  mig.parent = std::move(parent);
  return mig;
}

TEST(NodeRecordTest, SharesItsCardsAsTheNodesLabelSays) {
  const CardSharing sharing{.most_replicas = 4, .apply = [](auto choice, auto& cards) {
                              cards.at(0).replicas.count = choice == "quarter" ? 4 : 2;
                              return std::vector<std::string>{"something is ignored"};
                            }};
  OwnNode node = bare_node();
  EXPECT_EQ(
      record(installed({card("GPU-1")}), node, {}, {.sharing = sharing}).cards[0].replicas.count,
      2);
  node.sharing_choice = "quarter";
  const NodeRecord made = record(installed({card("GPU-1")}), node, {}, {.sharing = sharing});
  EXPECT_EQ(made.cards[0].replicas.count, 4);
  EXPECT_EQ(made.notices, (std::vector<Notice>{{"SharingConfiguration", "something is ignored"}}));
  EXPECT_EQ(metadata_patch(published(made), made), std::nullopt);
}

TEST(NodeRecordTest, ListsTheCardsAsTheyAre) {
  model::Card sick = card("GPU-2");
  sick.healthy = false;
  sick.unavailable_reason = "XID 79";
  const NodeRecord made = record(installed({card("GPU-1"), sick}));
  EXPECT_EQ(made.cards, (std::vector<model::Card>{card("GPU-1"), sick}));
  EXPECT_TRUE(made.notices.empty());
}

TEST(NodeRecordTest, CapacityCountsInstalledCardsWhateverTheirState) {
  model::Card sick = card("GPU-2");
  sick.healthy = false;
  OwnNode node = bare_node();
  node.cordon = "GPU-1";
  const NodeRecord made = record(installed({card("GPU-1"), sick}), node);
  EXPECT_EQ(made.capacity,
            (NodeRecord::Capacity{.milli = MilliGpu(2'000), .memory = Mebibytes(163'840)}));
}

TEST(NodeRecordTest, CapacityIsNeverBelowWhatBoundPodsRequest) {
  const CardRequests requested{.milli = MilliGpu(1'500), .memory = Mebibytes(100)};
  const NodeRecord made = record(installed({card("GPU-1")}), bare_node(), requested);
  EXPECT_EQ(made.capacity,
            (NodeRecord::Capacity{.milli = MilliGpu(1'500), .memory = Mebibytes(81'920)}));
}

TEST(NodeRecordTest, NoCapacityWhereAggregatesAreOff) {
  EXPECT_EQ(record(installed({card("GPU-1")}), bare_node(), {}, {.aggregates = false}).capacity,
            std::nullopt);
}

TEST(NodeRecordTest, ModelLabelIsTheOneModelOrMixed) {
  EXPECT_EQ(record(installed({card("a", "NVIDIA A100-SXM4-80GB"), card("b",
                                                                       "NVIDIA "
                                                                       "A100-SXM4-80GB")}))
                .model_label,
            "NVIDIA-A100-SXM4-80GB");
  EXPECT_EQ(record(installed({card("a", "A100"), card("b", "T4")})).model_label, "mixed");
  EXPECT_EQ(record(installed({})).model_label, "");
}

TEST(NodeRecordTest, LabelValuesAreWhatKubernetesTakes) {
  EXPECT_EQ(label_value("Tesla T4"), "Tesla-T4");
  EXPECT_EQ(label_value("A100 MIG 1g.10gb+me"), "A100-MIG-1g.10gb-me");
  EXPECT_EQ(label_value(" (odd) "), "odd");
  EXPECT_EQ(label_value("äöü"), "");
  EXPECT_EQ(label_value(std::string(62, 'x') + " y"), std::string(62, 'x'));
}

TEST(NodeRecordTest, CordonWithholdsTheNamedCards) {
  OwnNode node = bare_node();
  node.cordon = " GPU-2 , GPU-3,";
  const NodeRecord made =
      record(installed({card("GPU-1"), card("GPU-2"), instance("MIG-1", "GPU-3")}), node);
  ASSERT_EQ(made.cards.size(), 3U);
  EXPECT_FALSE(made.cards[0].cordoned);
  EXPECT_TRUE(made.cards[1].cordoned);
  EXPECT_EQ(made.cards[1].unavailable_reason,
            "cordoned: by the node's annotation tangram.dev/cordon");
  EXPECT_TRUE(made.cards[2].cordoned) << "its physical card is named";
  EXPECT_TRUE(made.notices.empty());
}

TEST(NodeRecordTest, CordonSaysWhy) {
  OwnNode node = bare_node();
  node.cordon = "GPU-1 = its fan is loud ,GPU-2=";
  const NodeRecord made = record(installed({card("GPU-1"), card("GPU-2")}), node);
  EXPECT_EQ(made.cards[0].unavailable_reason,
            "cordoned: by the node's annotation tangram.dev/cordon: its fan is loud");
  EXPECT_EQ(made.cards[1].unavailable_reason,
            "cordoned: by the node's annotation tangram.dev/cordon");
  EXPECT_TRUE(made.notices.empty());
}

TEST(NodeRecordTest, ACordonsReasonIsOneLine) {
  OwnNode node = bare_node();
  node.cordon = "GPU-1=loud\nGPU-2 ok\xe2\x80\xae";
  EXPECT_EQ(record(installed({card("GPU-1")}), node).cards[0].unavailable_reason,
            "cordoned: by the node's annotation tangram.dev/cordon: loud?GPU-2 ok?");
}

TEST(NodeRecordTest, CordonOfAllWithholdsAll) {
  OwnNode node = bare_node();
  node.cordon = "all";
  for (const model::Card& one : record(installed({card("GPU-1"), card("GPU-2")}), node).cards) {
    EXPECT_TRUE(one.cordoned) << one.id;
  }
}

TEST(NodeRecordTest, CordonOfASickCardKeepsBothReasons) {
  model::Card sick = card("GPU-1");
  sick.healthy = false;
  sick.unavailable_reason = "XID 79";
  OwnNode node = bare_node();
  node.cordon = "GPU-1";
  const NodeRecord made = record(installed({sick}), node);
  EXPECT_FALSE(made.cards[0].healthy);
  EXPECT_EQ(made.cards[0].unavailable_reason,
            "XID 79; cordoned: by the node's annotation tangram.dev/cordon");
}

TEST(NodeRecordTest, CordonOfNoCardIsTold) {
  OwnNode node = bare_node();
  node.cordon = "GPU-1,GPU-9";
  const NodeRecord made = record(installed({card("GPU-1")}), node);
  ASSERT_EQ(made.notices.size(), 1U);
  EXPECT_EQ(made.notices[0].reason, "CordonUnknownCard");
  EXPECT_NE(made.notices[0].sentence.find("\"GPU-9\""), std::string::npos);
  EXPECT_TRUE(made.cards[0].cordoned);
}

TEST(NodeRecordTest, CardsOfANodeWithAnotherPluginAreWithheld) {
  OwnNode node = bare_node();
  node.foreign = {"nvidia.com/gpu"};
  const NodeRecord made = record(installed({card("GPU-1"), card("GPU-2")}), node);
  for (const model::Card& one : made.cards) {
    EXPECT_TRUE(one.cordoned) << one.id;
    EXPECT_NE(one.unavailable_reason.find("nvidia.com/gpu"), std::string::npos);
    EXPECT_NE(one.unavailable_reason.find("--own-cards"), std::string::npos);
  }
  ASSERT_EQ(made.notices.size(), 1U);
  EXPECT_EQ(made.notices[0].reason, "CardsOwnedTwice");
}

TEST(NodeRecordTest, CardsStayWithheldWhileKubeletHasGivenOneToAnotherPlugin) {
  const auto made =
      record_of(installed({card("GPU-1")}), bare_node(), {},
                {.resources = {"nvidia.com/gpu", "nvidia.com/mig-1g.10gb"}, .drivers = {}}, {});
  ASSERT_TRUE(made);
  EXPECT_TRUE(made->cards[0].cordoned);
  ASSERT_EQ(made->notices.size(), 1U);
  EXPECT_NE(made->notices[0].sentence.find("pods with nvidia.com/gpu, nvidia.com/mig-1g.10gb"),
            std::string::npos);
}

TEST(NodeRecordTest, NamedCardsAreTangramsBesideAnotherPlugin) {
  OwnNode node = bare_node();
  node.foreign = {"nvidia.com/gpu"};
  const RecordSettings settings{.own_cards = parse_card_names("GPU-2")};
  const NodeRecord made = record(installed({card("GPU-1"), card("GPU-2")}), node, {}, settings);
  EXPECT_TRUE(made.cards[0].cordoned);
  EXPECT_EQ(made.cards[0].unavailable_reason, "cordoned: not named in the agent's --own-cards");
  EXPECT_FALSE(made.cards[1].cordoned);
  EXPECT_TRUE(made.notices.empty());
  const RecordSettings all{.own_cards = parse_card_names("all")};
  EXPECT_FALSE(record(installed({card("GPU-1")}), node, {}, all).cards[0].cordoned);
}

TEST(NodeRecordTest, CardsThatADraDriverPublishesAreWithheld) {
  const CardsNow cards = installed({card("GPU-1"), card("GPU-2")});
  const OtherOwners others{.resources = {},
                           .drivers = {.cards = {{"GPU-2", "gpu.nvidia.com"}}, .parents = {}}};
  const auto made = record_of(cards, bare_node(), {}, others, {});
  ASSERT_TRUE(made);
  EXPECT_FALSE(made->cards[0].cordoned);
  EXPECT_TRUE(made->cards[1].cordoned);
  EXPECT_EQ(made->cards[1].unavailable_reason,
            "cordoned: the DRA driver gpu.nvidia.com also publishes this card; stop it on this "
            "node, or name Tangram's cards in the agent's --own-cards");
  ASSERT_EQ(made->notices.size(), 1U);
  EXPECT_EQ(made->notices[0].reason, "CardsOwnedTwice");
  const auto named =
      record_of(cards, bare_node(), {}, others, {.own_cards = parse_card_names("GPU-2")});
  ASSERT_TRUE(named);
  EXPECT_TRUE(named->cards[0].cordoned);
  EXPECT_FALSE(named->cards[1].cordoned);
  EXPECT_TRUE(named->notices.empty());
}

TEST(NodeRecordTest, WhatWasPublishedIsReadBackAsItWasGiven) {
  model::Card sick = card("GPU-2");
  sick.healthy = false;
  sick.unavailable_reason = "XID 79";
  const std::vector<model::Card> given{card("GPU-1"), sick, card("GPU-3")};
  OwnNode node = bare_node();
  EXPECT_TRUE(previous_cards(node).empty());
  node.cordon = "GPU-1,GPU-2";
  node.foreign = {"nvidia.com/gpu"};
  node.cards = model::encode_cards(record(installed(given), node).cards);
  EXPECT_EQ(previous_cards(node), given);
  node.cards = "of another program";
  EXPECT_TRUE(previous_cards(node).empty());
}

TEST(NodeRecordTest, RefusesCardsThatNoReaderWouldTake) {
  const auto twice = record_of(installed({card("GPU-1"), card("GPU-1")}), bare_node(), {}, {}, {});
  ASSERT_FALSE(twice.has_value());
  EXPECT_EQ(twice.error().code, Errc::kInvalidArgument);
  EXPECT_NE(twice.error().message.find("\"GPU-1\" stands twice"), std::string::npos)
      << twice.error().message;
}

TEST(NodeRecordTest, LongReasonsAreCutToWhatReadersTake) {
  model::Card sick = card("GPU-1");
  sick.healthy = false;
  sick.unavailable_reason = std::string(1'020, 'x');
  OwnNode node = bare_node();
  node.cordon = "all";
  EXPECT_EQ(record(installed({sick}), node).cards[0].unavailable_reason.size(), 1'024U);
}

TEST(NodeRecordTest, WhatResizedPodsReleasedIsCapacityForOthers) {
  const auto capacity = [](const NodePods& pods) {
    return *record_of(installed({card("GPU-1")}), bare_node(), pods, {}, {})->capacity;
  };
  const NodeRecord::Capacity more =
      capacity({.requested = {.milli = MilliGpu(900), .memory = Mebibytes(81'920)},
                .released = {.milli = MilliGpu(300), .memory = Mebibytes(0)}});
  EXPECT_EQ(more.milli, MilliGpu(1300));
  EXPECT_EQ(more.memory, Mebibytes(81'920));
  const NodeRecord::Capacity bound =
      capacity({.requested = {.milli = MilliGpu(1400), .memory = Mebibytes(1)},
                .released = {.milli = MilliGpu(300), .memory = Mebibytes(0)}});
  EXPECT_EQ(bound.milli, MilliGpu(1400)) << "never less than bound pods request";
}

TEST(NodePatchTest, BareNodeGetsEverything) {
  const NodeRecord wanted = record(installed({card("GPU-1", "A100")}));
  const auto metadata = metadata_patch(bare_node(), wanted);
  ASSERT_TRUE(metadata.has_value());
  EXPECT_EQ(json_at(*metadata, "metadata.uid"), "u-1");
  const auto doc = kube::JsonDoc::parse(*metadata);
  ASSERT_TRUE(doc.has_value()) << *metadata;
  EXPECT_EQ(doc->text_at({"metadata", "labels", "tangram.dev/gpu"}), R"("true")");
  EXPECT_EQ(doc->text_at({"metadata", "labels", "tangram.dev/gpu-model"}), R"("A100")");
  EXPECT_NE(doc->text_at({"metadata", "annotations", "tangram.dev/cards"}), std::nullopt);
  EXPECT_EQ(capacity_patch(bare_node(), wanted),
            R"({"metadata":{"uid":"u-1"},"status":{"capacity":{"tangram.dev/gpu-milli":"1000",)"
            R"("tangram.dev/gpu-mem-mib":"81920"}}})");
}

TEST(NodePatchTest, NothingWhereAllIsSaid) {
  const NodeRecord wanted = record(installed({card("GPU-1"), card("GPU-2")}));
  OwnNode node = published(wanted);
  node.milli = KubeQuantity::parse("2k").value();  // as the server writes 2000
  EXPECT_EQ(metadata_patch(node, wanted), std::nullopt);
  EXPECT_EQ(capacity_patch(node, wanted), std::nullopt);
}

TEST(NodePatchTest, OrderOfMembersIsNoDifference) {
  model::Card usual = card("GPU-1", "A100");
  usual.memory_limits = model::MemoryLimits::kMps;  // what an absent member means
  const NodeRecord wanted = record(installed({usual}));
  OwnNode node = published(wanted);
  node.cards =
      R"({ "cards": [{"model":"A100","memMiB":81920,"id":"GPU-1","soon":[1]}], "version": 1 })";
  EXPECT_EQ(metadata_patch(node, wanted), std::nullopt);
}

TEST(NodePatchTest, AnnotationThatCannotBeReadIsOverwritten) {
  const NodeRecord wanted = record(installed({card("GPU-1")}));
  for (const char* text : {"", "nonsense", R"({"version":99,"cards":[]})"}) {
    OwnNode node = published(wanted);
    node.cards = text;
    const auto patch = metadata_patch(node, wanted);
    ASSERT_TRUE(patch.has_value()) << text;
    EXPECT_EQ(json_at(*patch, "metadata.labels"), "<none>") << "the labels are right";
  }
}

TEST(NodePatchTest, ResizesAreComparedByWhatTheySay) {
  NodeRecord wanted = record(installed({card("GPU-1")}));
  wanted.resizes = {{"uid-a", {.applied = 1, .refused = 2, .why = model::ResizeRefusal::kInUse}}};
  OwnNode node = published(wanted);
  const std::string said =
      R"({ "pods":{"uid-a":{"why":"in-use","refused":2,"revision":1}}, "version":1 })";
  node.resizes = said;
  EXPECT_EQ(metadata_patch(node, wanted), std::nullopt);
  EXPECT_EQ(previous_resizes(node), wanted.resizes);
  for (const char* const other : {"", "nonsense", R"({"version":1,"pods":{}})"}) {
    node.resizes = other;
    const auto patch = metadata_patch(node, wanted);
    ASSERT_TRUE(patch) << other;
    EXPECT_EQ(json_at(*patch, "metadata.annotations").find(R"({"tangram.dev/resizes":)"), 0U);
    EXPECT_TRUE(previous_resizes(node).empty());
  }
  wanted.resizes.clear();
  EXPECT_EQ(metadata_patch(node, wanted),
            R"({"metadata":{"uid":"u-1","annotations":{"tangram.dev/resizes":null}}})");
}

TEST(NodePatchTest, OnlyTheDifferenceIsWritten) {
  const NodeRecord wanted = record(installed({card("GPU-1", "A100")}));
  OwnNode node = published(wanted);
  node.model_label = "T4";
  node.memory = KubeQuantity();
  EXPECT_EQ(metadata_patch(node, wanted),
            R"({"metadata":{"uid":"u-1","labels":{"tangram.dev/gpu-model":"A100"}}})");
  EXPECT_EQ(capacity_patch(node, wanted),
            R"({"metadata":{"uid":"u-1"},"status":{"capacity":{"tangram.dev/gpu-mem-mib":)"
            R"("81920"}}})");
}

TEST(NodePatchTest, WhatWasWrittenBeforeIsRemovedWhenItIsNotWanted) {
  const OwnNode node = published(record(installed({card("GPU-1")})));
  const NodeRecord no_aggregates =
      record(installed({card("GPU-1")}), node, {}, {.aggregates = false});
  EXPECT_EQ(capacity_patch(node, no_aggregates),
            R"({"metadata":{"uid":"u-1"},"status":{"capacity":{"tangram.dev/gpu-milli":null,)"
            R"("tangram.dev/gpu-mem-mib":null}}})");
  EXPECT_EQ(capacity_patch(bare_node(), no_aggregates), std::nullopt);
  const auto no_cards = metadata_patch(node, record(installed({})));
  ASSERT_TRUE(no_cards.has_value());
  EXPECT_EQ(json_at(*no_cards, "metadata.labels"),
            R"({"tangram.dev/gpu":null,"tangram.dev/gpu-model":null})");
}

TEST(CardNamesTest, BlanksCountForNothing) {
  EXPECT_EQ(parse_card_names(""), CardNames{});
  EXPECT_EQ(parse_card_names(" , ,"), CardNames{});
  EXPECT_EQ(parse_card_names("a,\tb , a").ids, (std::set<std::string, std::less<>>{"a", "b"}));
  EXPECT_TRUE(parse_card_names("a, all").all);
}

}  // namespace
}  // namespace tangram::node
