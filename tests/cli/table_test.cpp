#include "cli/table.hpp"

#include "tests/cli/rig.hpp"

#include <gtest/gtest.h>

namespace tangram::cli {
namespace {

Table pods_table() {
  Table table({{.name = "NAME", .may_shrink = true},
               {.name = "PODS", .right = true},
               {.name = "WHY", .may_shrink = true}});
  table.add({"a-rather-long-name-of-a-node-0", "3", "fits"});
  table.add({"b", "12", "no GPU card has enough free memory and compute"});
  return table;
}

TEST(TableTest, LinesUpItsColumns) {
  EXPECT_EQ(
      pods_table().text(file_screen(60)),
      "NAME                            PODS  WHY\n"
      "a-rather-long-name-of-a-node-0     3  fits\n"
      "b                                 12  no GPU card has enough free memory and compute\n");
}

TEST(TableTest, CutsTheWidestColumnsAtANarrowTerminal) {
  EXPECT_EQ(pods_table().text(terminal(60)),
            "NAME                        PODS  WHY\n"
            "a-rather…-name-of-a-node-0     3  fits\n"
            "b                             12  no GPU c…emory and compute\n");
}

TEST(TableTest, LeavesAWideTerminalAsItIs) {
  EXPECT_EQ(pods_table().text(terminal(120)), pods_table().text(file_screen()));
}

TEST(TableTest, CutsNoFurtherThanCanBeRead) {
  const std::string text = pods_table().text(terminal(10));
  EXPECT_NE(text.find("a-…ode-0"), std::string::npos) << text;
}

TEST(TableTest, IndentsEveryLine) {
  Table table({{.name = "A"}});
  table.add({"x"});
  EXPECT_EQ(table.text(file_screen(), 2), "  A\n  x\n");
  EXPECT_TRUE(Table({{.name = "A"}}).empty());
}

TEST(HarmlessTest, TakesCommandsForTerminalsAway) {
  EXPECT_EQ(harmless("a\x1b[2Jb\x1b]0;title\x07\r\tc\x7f\n", true), "a?[2Jb?]0;title???c?\n");
  EXPECT_EQ(harmless("\xc2\x9b"
                     "2J caf\xc3\xa9 \xc2\xa0",
                     true),
            "?2J caf\xc3\xa9 \xc2\xa0");
}

TEST(HarmlessTest, KeepsColoursWhereThereAreSome) {
  EXPECT_EQ(harmless("\x1b[1;38;5;42mok\x1b[0m", true), "\x1b[1;38;5;42mok\x1b[0m");
  EXPECT_EQ(harmless("\x1b[1mok\x1b[0m", false), "?[1mok?[0m");
  EXPECT_EQ(harmless("\x1b[1", true), "?[1");
  EXPECT_EQ(harmless("\x1b", true), "?");
}

}  // namespace
}  // namespace tangram::cli
