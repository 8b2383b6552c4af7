#include "node/publish/node_labels.hpp"

#include "kube/json_doc.hpp"

#include <gtest/gtest.h>

namespace tangram::node {
namespace {

constexpr const char* kTimestamp = "nvidia.com/gfd.timestamp";
constexpr const char* kCount = "nvidia.com/gpu.count";
constexpr const char* kProduct = "nvidia.com/gpu.product";

/// Writes the driver as the product, and a count of 1; "many" as the choice leaves the count out.
LabelSettings settings(bool write = true) {
  LabelSettings made;
  made.write = write;
  made.labels.of_vendors_program = kTimestamp;
  made.labels.covers = [](std::string_view name) { return name.starts_with("nvidia.com/gpu."); };
  made.labels.of = [](const Inventory& inventory, std::string_view choice) {
    NodeLabels labels{{kProduct, inventory.driver}};
    if (choice != "many") labels.emplace(kCount, "1");
    return labels;
  };
  return made;
}

CardsNow cards(const std::string& product = "A100") {
  CardsNow now;
  now.inventory.driver = product;
  now.answers = true;
  return now;
}

OwnNode node(NodeLabels labels = {}, std::optional<std::string> written = {}) {
  OwnNode made;
  made.name = "gpu-1";
  made.uid = "u-1";
  made.version = "7";
  made.labels = std::move(labels);
  made.written_labels = std::move(written);
  return made;
}

/// A patch of the node as it is at the moment.
std::string patch(const std::string& annotation, const std::string& labels) {
  return R"({"metadata":{"uid":"u-1","resourceVersion":"7","annotations":{"tangram.dev/written-labels":)" +
         annotation + R"(},"labels":{)" + labels + "}}}";
}

const NodeLabels kLabels{{kCount, "1"}, {kProduct, "A100"}, {"zone", "z1"}};
const char* const kWritten = "nvidia.com/gpu.count=1,nvidia.com/gpu.product=A100";

TEST(NodeLabelsTest, BareNodeGetsThemWithTheRecordOfThem) {
  EXPECT_EQ(labels_patch(cards(), node({{"zone", "z1"}}), settings()),
            patch(R"("nvidia.com/gpu.count=1,nvidia.com/gpu.product=A100")",
                  R"("nvidia.com/gpu.count":"1","nvidia.com/gpu.product":"A100")"));
  EXPECT_EQ(labels_patch(cards(), node(kLabels, kWritten), settings()), std::nullopt);
}

TEST(NodeLabelsTest, FollowTheCardsAndTheSharing) {
  OwnNode stands = node(kLabels, kWritten);
  EXPECT_EQ(labels_patch(cards("H100"), stands, settings()),
            patch(R"("nvidia.com/gpu.count=1,nvidia.com/gpu.product=H100")",
                  R"("nvidia.com/gpu.product":"H100")"));
  stands.sharing_choice = "many";
  EXPECT_EQ(labels_patch(cards(), stands, settings()),
            patch(R"("nvidia.com/gpu.product=A100")", R"("nvidia.com/gpu.count":null)"));
}

TEST(NodeLabelsTest, StayWhileTheDriverDoesNotAnswer) {
  CardsNow silent = cards("H100");
  silent.answers = false;
  EXPECT_EQ(labels_patch(silent, node(kLabels, kWritten), settings()), std::nullopt);
  EXPECT_EQ(labels_patch(silent, node(), settings()), std::nullopt);
}

TEST(NodeLabelsTest, AnothersLabelIsLeftAlone) {
  EXPECT_EQ(labels_patch(cards(), node({{kCount, "8"}}), settings()),
            patch(R"("nvidia.com/gpu.product=A100")", R"("nvidia.com/gpu.product":"A100")"));
  EXPECT_EQ(labels_patch(cards(), node({{kCount, "1"}}), settings()),
            patch(R"("nvidia.com/gpu.product=A100")", R"("nvidia.com/gpu.product":"A100")"))
      << "the same value, but no record of it";
}

TEST(NodeLabelsTest, WhatNodeFeatureDiscoveryListsIsItsOwn) {
  OwnNode stands = node();
  stands.discovered = {kCount};
  EXPECT_EQ(labels_patch(cards(), stands, settings()),
            patch(R"("nvidia.com/gpu.product=A100")", R"("nvidia.com/gpu.product":"A100")"))
      << "it may write it again";
}

TEST(NodeLabelsTest, WhatAnotherHasOverwrittenIsItsOwn) {
  const OwnNode overwritten = node({{kCount, "8"}, {kProduct, "A100"}}, kWritten);
  EXPECT_EQ(labels_patch(cards(), overwritten, settings()),
            patch(R"("nvidia.com/gpu.product=A100")", ""));
  EXPECT_EQ(labels_patch(cards(), overwritten, settings(false)),
            patch("null", R"("nvidia.com/gpu.product":null)"));
}

TEST(NodeLabelsTest, WhatIsRemovedComesAgain) {
  EXPECT_EQ(labels_patch(cards(), node({{kProduct, "A100"}}, kWritten), settings()),
            patch(R"("nvidia.com/gpu.count=1,nvidia.com/gpu.product=A100")",
                  R"("nvidia.com/gpu.count":"1")"));
}

TEST(NodeLabelsTest, WhereTheVendorsProgramRunsOnlyTheAgentsOwnGo) {
  NodeLabels labels = kLabels;
  labels.emplace(kTimestamp, "1594644571");
  EXPECT_EQ(labels_patch(cards(), node(labels), settings()), std::nullopt);
  EXPECT_EQ(labels_patch(cards(), node(labels, kWritten), settings()),
            patch("null", R"("nvidia.com/gpu.count":null,"nvidia.com/gpu.product":null)"));
  OwnNode discovered = node(labels, kWritten);
  discovered.discovered = {kTimestamp, kProduct};
  EXPECT_EQ(labels_patch(cards(), discovered, settings()),
            patch("null", R"("nvidia.com/gpu.count":null)"))
      << "it has written the product again";
  CardsNow silent = cards();
  silent.answers = false;
  EXPECT_EQ(labels_patch(silent, discovered, settings()),
            patch("null", R"("nvidia.com/gpu.count":null)"));
}

TEST(NodeLabelsTest, WithoutTheFlagOnlyTheAgentsOwnGo) {
  EXPECT_EQ(labels_patch(cards(), node(kLabels), settings(false)), std::nullopt);
  EXPECT_EQ(labels_patch(cards(), node(kLabels, kWritten), settings(false)),
            patch("null", R"("nvidia.com/gpu.count":null,"nvidia.com/gpu.product":null)"));
  EXPECT_EQ(labels_patch(cards(), node({}, ""), settings(false)), patch("null", ""));
}

TEST(NodeLabelsTest, ARecordCannotNameOtherLabels) {
  for (const char* text : {"zone=z1", "zone", "=", ",,", "nvidia.com/gpu.count"}) {
    EXPECT_EQ(labels_patch(cards(), node(kLabels, text), settings(false)), patch("null", ""))
        << text;
  }
}

}  // namespace
}  // namespace tangram::node
