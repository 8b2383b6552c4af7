#include "cluster/card_metrics.hpp"

#include "tests/testing/builders.hpp"
#include "tests/testing/exposition.hpp"
#include "tests/testing/manual_clock.hpp"

#include <gtest/gtest.h>

namespace tangram::cluster {
namespace {

using testing::allocation;
using testing::card;
using testing::Exposition;
using testing::granted;
using testing::inventory;

class CardMetricsTest : public ::testing::Test {
 protected:
  /// All pieces joined. `pieces` counts them.
  std::string page() {
    CardMetrics metrics(ledger_.snapshot());
    std::string text;
    pieces_ = 0;
    for (;; ++pieces_) {
      std::string piece;
      if (!metrics.next(piece)) {
        EXPECT_EQ(piece, "");
        break;
      }
      text += piece;
    }
    return text;
  }

  testing::ManualClock clock_;
  model::Ledger ledger_{clock_};
  int pieces_ = 0;
};

TEST_F(CardMetricsTest, ShowsWhatACardHasAndWhatIsGranted) {
  ledger_.put_node(inventory("n1", {card("GPU-1")}));
  ledger_.observe(allocation("u1", "n1", {granted("GPU-1", 4'096, 125)}));
  ledger_.observe(allocation("u2", "n1", {granted("GPU-1", 1'024, 500)}));
  const Exposition all(page());
  const std::string labels = "{node=\"n1\",uuid=\"GPU-1\",model=\"A100\",card=\"0\"}";
  EXPECT_EQ(all.samples().at("tangram_card_memory_capacity_bytes" + labels), "85899345920");
  EXPECT_EQ(all.samples().at("tangram_card_memory_granted_bytes" + labels), "5368709120");
  EXPECT_EQ(all.samples().at("tangram_card_compute_capacity_ratio" + labels), "1.000");
  EXPECT_EQ(all.samples().at("tangram_card_compute_granted_ratio" + labels), "0.625");
  EXPECT_EQ(all.samples().at("tangram_card_pods" + labels), "2");
  EXPECT_EQ(all.samples().at("tangram_card_healthy" + labels), "1");
  EXPECT_EQ(all.samples().size(), 6U);
  for (const auto& [family, type] : all.types()) EXPECT_EQ(type, "gauge") << family;
}

TEST_F(CardMetricsTest, CountsAPodOnceHoweverManyContainersShareTheCard) {
  ledger_.put_node(inventory("n1", {card("GPU-1")}));
  model::Allocation two = allocation("u1", "n1", {granted("GPU-1", 100, 100)});
  two.containers.push_back({.container = "second", .cards = {granted("GPU-1", 100, 100)}});
  ledger_.observe(two);
  EXPECT_EQ(Exposition(page()).value(
                "tangram_card_pods{node=\"n1\",uuid=\"GPU-1\",model=\"A100\",card=\"0\"}"),
            1);
}

TEST_F(CardMetricsTest, ShowsAnOvergrantAsItIs) {
  ledger_.put_node(inventory("n1", {card("GPU-1")}));
  for (const char* uid : {"u1", "u2"}) {
    ledger_.observe(allocation(uid, "n1", {granted("GPU-1", 1, 1'000)}));
  }
  EXPECT_EQ(Exposition(page()).value("tangram_card_compute_granted_ratio{node=\"n1\",uuid=\"GPU-"
                                     "1\",model=\"A100\",card=\"0\"}"),
            2);
}

TEST_F(CardMetricsTest, ShowsSickAndCordonedCardsAsNotHealthy) {
  model::Card sick = card("sick");
  sick.healthy = false;
  model::Card kept = card("kept");
  kept.cordoned = true;
  ledger_.put_node(inventory("n1", {sick, kept}));
  const Exposition all(page());
  EXPECT_EQ(all.value("tangram_card_healthy{node=\"n1\",uuid=\"sick\",model=\"A100\",card=\"0\"}"),
            0);
  EXPECT_EQ(all.value("tangram_card_healthy{node=\"n1\",uuid=\"kept\",model=\"A100\",card=\"1\"}"),
            0);
}

TEST_F(CardMetricsTest, IsAValidPageWithoutAnyNode) {
  const Exposition all(page());
  EXPECT_EQ(all.types().size(), 6U);
  EXPECT_TRUE(all.samples().empty());
}

TEST_F(CardMetricsTest, EscapesLabels) {
  EXPECT_EQ(escape_label("plain"), "plain");
  EXPECT_EQ(escape_label("a\\b\"c\nd"), "a\\\\b\\\"c\\nd");
  ledger_.put_node(inventory("n1", {card("GPU-1", "T4 \"16\nGB\"\\")}));
  const Exposition all(page());
  EXPECT_TRUE(all.samples().contains(
      "tangram_card_pods{node=\"n1\",uuid=\"GPU-1\",model=\"T4 \\\"16\\nGB\\\"\\\\\",card=\"0\"}"));
}

TEST_F(CardMetricsTest, ComesInPiecesThatJoinToOnePage) {
  constexpr int kNodes = 150;  // more than two pieces of each family
  for (int i = 0; i < kNodes; ++i) {
    const std::string name = "n" + std::to_string(i);
    ledger_.put_node(inventory(name, {card(name + "-0"), card(name + "-1")}));
  }
  const Exposition all(page());
  EXPECT_GE(pieces_, 6 * 3);
  EXPECT_EQ(all.samples().size(), static_cast<std::size_t>(6 * 2 * kNodes));
}

TEST_F(CardMetricsTest, ShowsOneMomentThoughTheBooksGoOn) {
  ledger_.put_node(inventory("n1", {card("GPU-1")}));
  CardMetrics metrics(ledger_.snapshot());
  std::string text;
  ASSERT_TRUE(metrics.next(text));
  ledger_.observe(allocation("u1", "n1", {granted("GPU-1", 4'096, 500)}));
  ledger_.put_node(inventory("n2", {card("GPU-2")}));
  while (metrics.next(text)) {}
  const Exposition all(text);
  EXPECT_EQ(all.samples().size(), 6U);
  EXPECT_EQ(all.value("tangram_card_pods{node=\"n1\",uuid=\"GPU-1\",model=\"A100\",card=\"0\"}"),
            0);
}

}  // namespace
}  // namespace tangram::cluster
