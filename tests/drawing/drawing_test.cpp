#include "drawing/card_map.hpp"
#include "drawing/palette.hpp"
#include "tests/drawing/builders.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace tangram::drawing {
namespace {

constexpr Style kPlainStyle{.colour = false, .width = 100};

TEST(CardMapTest, CellsBelongToTheShareThatCoversTheirMiddle) {
  const CardView card =
      shown_card("GPU-0", "A100", 1000, {{"a", "x", 500, 100}, {"b", "y", 250, 0}});
  EXPECT_EQ(owners_of_cells(card, 4, &ShareView::mem_mib, 1000), (std::vector<int>{0, 0, 1, -1}));
  // 100 of 1000 do not reach the middle of the first of four cells.
  EXPECT_EQ(owners_of_cells(card, 4, &ShareView::milli, 1000), (std::vector<int>{-1, -1, -1, -1}));
  EXPECT_EQ(owners_of_cells(card, 10, &ShareView::milli, 1000)[0], 0);
}

TEST(CardMapTest, AFullCardHasNoFreeCell) {
  const CardView card =
      shown_card("GPU-0", "A100", 999, {{"a", "x", 333, 333}, {"b", "y", 666, 667}});
  const std::vector<int> owners = owners_of_cells(card, 13, &ShareView::mem_mib, 999);
  EXPECT_EQ(std::count(owners.begin(), owners.end(), -1), 0);
}

TEST(CardMapTest, LargerCardsHaveLongerBars) {
  EXPECT_EQ(bar_cells(81'920), 14U);
  EXPECT_LT(bar_cells(46'068), bar_cells(81'920));
  EXPECT_LT(bar_cells(15'360), bar_cells(46'068));
  EXPECT_EQ(bar_cells(1), 7U);  // "#0 100%" has to fit
}

TEST(CardMapTest, EightLargeCardsFillALineOf120Columns) {
  NodeView node;
  node.name = "n";
  for (int i = 0; i < 8; ++i) node.cards.push_back(shown_card("GPU", "A100", 81'920, {}));
  ClusterView cluster;
  cluster.nodes = {node};
  const std::vector<std::string> lines =
      lines_of(draw_card_map({.colour = true, .width = 120}, cluster));
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(columns_of(lines[1]), 120U);
  EXPECT_EQ(lines_of(draw_card_map({.colour = true, .width = 119}, cluster)).size(), 5U);
}

TEST(CardMapTest, CountsModelsInTheOrderOfTheCards) {
  EXPECT_EQ(models_of(small_cluster().nodes[0]), "1 × A100-80GB + 1 × T4 + 2 × L40S");
  EXPECT_EQ(models_of(NodeView{}), "no card");
}

TEST(CardMapTest, DrawsLettersWithoutColour) {
  const std::vector<std::string> lines = lines_of(draw_card_map(kPlainStyle, small_cluster()));
  ASSERT_EQ(lines.size(), 5U);
  EXPECT_EQ(
      lines[0],
      "node-a    13%  granted, 2 pods, 48 of 64 CPUs free: 1 × A100-80GB + 1 × T4 + 2 × L40S");
  // 14 cells: a half and a quarter of the memory end in cells 7 and 10.5, whose middle is just not
  // covered; of the compute a quarter each, cells 3.5 and 7. The second pod has the other case.
  EXPECT_EQ(lines[1], "  mem  [AAAAAAAbbb....] [.......] [xxxxxxxxxx] [//////////]");
  EXPECT_EQ(lines[2], "  gpu  [AAAbbbb.......] [.......] [xxxxxxxxxx] [//////////]");
  EXPECT_EQ(lines[3], "            #0 50%        #1 0%    #2 unheal…   #3 cordon…");
  EXPECT_EQ(lines[4], "cards granted to A=llm 0.2 B=vision 0.2");
}

TEST(CardMapTest, DrawsHalfBlocksWithColour) {
  const Style style{.colour = true, .width = 100};
  const std::string map = draw_card_map(style, small_cluster());
  EXPECT_NE(map.find("▀"), std::string::npos);
  EXPECT_NE(map.find("╳"), std::string::npos);
  EXPECT_NE(map.find("▒"), std::string::npos);
  const Palette palette({"llm", "vision"});
  EXPECT_NE(map.find("38;5;" + std::to_string(palette.colour("llm", 0))), std::string::npos);
}

TEST(PaletteTest, GivesNeighboursDifferentShades) {
  const Palette palette({"a", "b"});
  EXPECT_NE(palette.colour("a", 0), palette.colour("a", 1));
  EXPECT_NE(palette.colour("a", 0), palette.colour("b", 0));
  EXPECT_EQ(palette.letter("b", 0), 'B');
  EXPECT_EQ(palette.letter("b", 3), 'b');
}

class WidthTest : public testing::TestWithParam<Style> {};

TEST_P(WidthTest, NoLineIsWiderThanTheStyle) {
  for (const ClusterView& cluster : {small_cluster(), crowded_cluster(2)}) {
    for (const std::string& line : lines_of(draw_card_map(GetParam(), cluster))) {
      EXPECT_LE(columns_of(line), static_cast<std::size_t>(GetParam().width)) << line;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Styles, WidthTest,
    testing::Values(Style{.colour = false, .width = kMinWidth},
                    Style{.colour = true, .width = kMinWidth}, Style{.colour = false, .width = 80},
                    Style{.colour = true, .width = 80}, Style{.colour = true, .width = 121},
                    Style{.colour = false, .width = kMaxWidth}),
    [](const auto& row) {
      return (row.param.colour ? "Colour" : "Plain") + std::to_string(row.param.width);
    });

}  // namespace
}  // namespace tangram::drawing
