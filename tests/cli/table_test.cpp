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

TEST(TableTest, CutsProseAtItsEnd) {
  Table table({{.name = "NAME"}, {.name = "WHY", .may_shrink = true, .prose = true}});
  table.add({"a", "no GPU card has enough free memory and compute"});
  EXPECT_EQ(table.text(terminal(30)),
            "NAME  WHY\n"
            "a     no GPU card has enough …\n");
}

TEST(TableTest, LeavesOutWhatCanBeSparedBeforeNamesAreCutShort) {
  Table table({{.name = "NAME", .may_shrink = true},
               {.name = "MODE", .dispensable = 1},
               {.name = "WHERE", .may_shrink = true},
               {.name = "EXTRA", .dispensable = 2}});
  table.add({"a-rather-long-name-0", "mps", "somewhere-far-away-0", "much of it"});
  EXPECT_EQ(table.text(terminal(64)),
            "NAME                  MODE  WHERE                 EXTRA\n"
            "a-rather-long-name-0  mps   somewhere-far-away-0  much of it\n")
      << "all fits";
  EXPECT_EQ(table.text(terminal(48)),
            "NAME                  MODE  WHERE\n"
            "a-rather-long-name-0  mps   somewhere-far-away-0\n");
  EXPECT_EQ(table.text(terminal(36)).find("MODE"), std::string::npos) << "neither";
  EXPECT_NE(table.text(file_screen(36)).find("EXTRA"), std::string::npos) << "a file has it all";
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
  EXPECT_EQ(without_controls("a\x1b[2Jb\x1b]0;title\x07\r\tc\x7f\n", true),
            "a?[2Jb?]0;title???c?\n");
  EXPECT_EQ(without_controls("\xc2\x9b"
                             "2J caf\xc3\xa9 \xc2\xa0",
                             true),
            "?2J caf\xc3\xa9 \xc2\xa0");
}

TEST(HarmlessTest, TakesDirectionsAway) {
  EXPECT_EQ(without_controls("GPU-1 \xe2\x80\xaeko\xe2\x80\xac\nb\xe2\x80\xa8", true),
            "GPU-1 ?ko?\nb?");
  EXPECT_EQ(without_controls("\xff", true), "?");
}

TEST(TableTest, ACellIsOneLine) {
  Table table({{.name = "NODE"}, {.name = "BAR", .painted = true}, {.name = "STATE"}});
  table.add({"a\nb", "\x1b[1m##\x1b[0m", "XID\nc  ##  ok\x1b[1m\xe2\x80\xae"});
  EXPECT_EQ(table.text(file_screen()),
            "NODE  BAR  STATE\n"
            "a?b   \x1b[1m##\x1b[0m   XID?c  ##  ok?[1m?\n");
}

TEST(HarmlessTest, KeepsColoursWhereThereAreSome) {
  EXPECT_EQ(without_controls("\x1b[1;38;5;42mok\x1b[0m", true), "\x1b[1;38;5;42mok\x1b[0m");
  EXPECT_EQ(without_controls("\x1b[1mok\x1b[0m", false), "?[1mok?[0m");
  EXPECT_EQ(without_controls("\x1b[1;2;38;5;255;48;5;0mok\x1b[48;5;7m", true),
            "\x1b[1;2;38;5;255;48;5;0mok\x1b[48;5;7m");
  EXPECT_EQ(without_controls("\x1b[1", true), "?[1");
  EXPECT_EQ(without_controls("\x1b", true), "?");
}

TEST(HarmlessTest, TakesAwayColoursThatNothingPaints) {
  for (const char* codes : {"8", "5", "1;8", "31", "", "1;", ";1", "1;;2", "38;5;256", "38;5;",
                            "38;2;0;0;0", "48;5;1;38;5;1", "0;1", "38;5;0001", "12"}) {
    const std::string code = "[" + std::string(codes) + "m";
    EXPECT_EQ(without_controls("\x1b" + code + "ok", true), "?" + code + "ok");
  }
}

}  // namespace
}  // namespace tangram::cli
