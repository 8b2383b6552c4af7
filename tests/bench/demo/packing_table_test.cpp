#include "bench/demo/packing_table.hpp"

#include "tests/drawing/builders.hpp"

#include <gtest/gtest.h>

namespace tangram::bench::demo {
namespace {

TEST(PackingTableTest, HasALinePerCardWithWhoHoldsIt) {
  const std::vector<std::string> lines = drawing::lines_of(
      draw_packing_table({.colour = false, .width = 120}, drawing::small_cluster()));
  ASSERT_EQ(lines.size(), 5U);
  EXPECT_EQ(lines[1].substr(0, lines[1].find("██")), "node-a     0 A100-80GB          60.0/ 80.0 ");
  EXPECT_NE(lines[1].find("50%"), std::string::npos);
  EXPECT_NE(lines[1].find("mps        serve-1 detect-1"), std::string::npos);
  EXPECT_NE(lines[2].find("0%    0 -"), std::string::npos);
  EXPECT_NE(lines[3].find("XID 79"), std::string::npos);
  EXPECT_NE(lines[4].find("kept free"), std::string::npos);
}

TEST(PackingTableTest, CountsThePodsThatItHasNoRoomFor) {
  const std::vector<std::string> lines = drawing::lines_of(
      draw_packing_table({.colour = false, .width = 120}, drawing::crowded_cluster(1)));
  EXPECT_NE(lines[1].find("a-pod-with-a-rather-long-name-0 +9"), std::string::npos) << lines[1];
}

TEST(PackingTableTest, NoLineIsWiderThanTheLook) {
  for (const int width : {drawing::kMinWidth, 80, 121, drawing::kMaxWidth}) {
    for (const bool colour : {false, true}) {
      for (const auto& cluster : {drawing::small_cluster(), drawing::crowded_cluster(2)}) {
        const std::string table = draw_packing_table({.colour = colour, .width = width}, cluster);
        for (const std::string& line : drawing::lines_of(table)) {
          EXPECT_LE(drawing::columns_of(line), static_cast<std::size_t>(width)) << line;
        }
      }
    }
  }
}

}  // namespace
}  // namespace tangram::bench::demo
