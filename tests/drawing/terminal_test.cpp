#include "drawing/terminal.hpp"

#include <gtest/gtest.h>

namespace tangram::drawing {
namespace {

constexpr Style kPlainStyle{.colour = false, .width = 80};
constexpr Style kColourStyle{.colour = true, .width = 80};

TEST(TerminalTest, SaysOnceThatSomethingIsMissing) {
  EXPECT_EQ(shortened("GPU-1…, GPU-2…", 7), "GPU-1…");
  EXPECT_EQ(shortened("GPU-1…, GPU-2…", 8), "GPU-1…,…");
}

TEST(TerminalTest, PaintsNothingWithoutColour) {
  EXPECT_EQ(paint(kPlainStyle, {.text = 42, .bold = true}, "yes"), "yes");
}

TEST(TerminalTest, PaintsAndEndsThePaintWithColour) {
  EXPECT_EQ(paint(kColourStyle, {.text = 42, .ground = 7, .bold = true}, "yes"),
            "\x1b[1;38;5;42;48;5;7myes\x1b[0m");
}

TEST(TerminalTest, CountsCharactersAndNoColours) {
  EXPECT_EQ(columns_of("abc"), 3U);
  EXPECT_EQ(columns_of("▀▀ ×"), 4U);
  EXPECT_EQ(columns_of(paint(kColourStyle, kBold, "▀a")), 2U);
}

TEST(TerminalTest, ShortensAtCharactersNotBytes) {
  EXPECT_EQ(shortened("××××", 4), "××××");
  EXPECT_EQ(shortened("×××××", 4), "×××…");
  EXPECT_EQ(shortened("abc", 0), "");
}

TEST(TerminalTest, ShortensInsideWhereTheEndsMatter) {
  EXPECT_EQ(shortened_inside("A100-SXM4-80GB-MIG-3g.40gb", 18), "A100-…-MIG-3g.40gb");
  EXPECT_EQ(shortened_inside("T4", 18), "T4");
  EXPECT_EQ(shortened_inside("abc", 0), "");
}

TEST(TerminalTest, WritesAmountsRoundedButNeverTooNiceAPercentage) {
  EXPECT_EQ(gib(81'559), "79.6");
  EXPECT_EQ(percent(1, 2), "50%");
  EXPECT_EQ(percent(0, 8000), "0%");
  EXPECT_EQ(percent(1, 8000), "1%");
  EXPECT_EQ(percent(7999, 8000), "99%");
  EXPECT_EQ(percent(8000, 8000), "100%");
  EXPECT_EQ(percent(1, 0), "0%");
}

TEST(TerminalTest, KeepsTogetherWhatMustNotBreak) {
  EXPECT_EQ(wrapped(std::string("one two") + kNoBreak + "three", 9, 0), "one\ntwo three");
}

TEST(TerminalTest, FillsUpOnEitherSide) {
  EXPECT_EQ(left_in("×", 3), "×  ");
  EXPECT_EQ(right_in("×", 3), "  ×");
  EXPECT_EQ(centred_in("×", 4), " ×  ");
  EXPECT_EQ(left_in("longer", 3), "longer");
}

TEST(TerminalTest, WrapsWordsBelowTheIndent) {
  EXPECT_EQ(wrapped("one two three", 9, 2), "one two\n  three");
  EXPECT_EQ(wrapped("averyveryverylongword x", 9, 2), "averyveryverylongword\n  x");
  EXPECT_EQ(wrapped("", 9, 2), "");
}

TEST(TerminalTest, SparklineAveragesDownToItsColumns) {
  EXPECT_EQ(sparkline({0.0, 0.5, 1.0}, 10), "▁▅█");
  EXPECT_EQ(sparkline({0.0, 0.0, 1.0, 1.0}, 2), "▁█");
  EXPECT_EQ(sparkline({7.0, -1.0}, 2), "█▁");
  EXPECT_EQ(sparkline({}, 10), "");
}

TEST(TerminalTest, HeadingIsAsWideAsTheStyle) {
  const std::string line = heading(kColourStyle, "checks");
  EXPECT_EQ(columns_of(line), 80U + 2U);  // and the two line ends
}

}  // namespace
}  // namespace tangram::drawing
