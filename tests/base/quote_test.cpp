#include "base/quote.hpp"

#include <gtest/gtest.h>

namespace tangram {
namespace {

TEST(QuoteTest, PutsQuotesAroundPlainText) {
  EXPECT_EQ(quote("gpu-mem 8Gi"), "\"gpu-mem 8Gi\"");
  EXPECT_EQ(quote(""), "\"\"");
}

TEST(QuoteTest, EscapesWhatATerminalOrALogWouldActOn) {
  EXPECT_EQ(quote("a\n\x1b[2J"), R"("a\x0a\x1b[2J")");
  EXPECT_EQ(quote(std::string_view("\0\x7f", 2)), R"("\x00\x7f")");
  EXPECT_EQ(quote("\xe2\x80\xae"), R"("\xe2\x80\xae")");  // right-to-left override
  EXPECT_EQ(quote(R"(say "\")"), R"("say \"\\\"")");
}

TEST(QuoteTest, KeepsTextOfTheLimitWhole) {
  const std::string longest(kMaxQuoted, 'x');
  EXPECT_EQ(quote(longest), '"' + longest + '"');
}

TEST(QuoteTest, CutsLongerTextWithAnEllipsis) {
  const std::string text(kMaxQuoted + 1, 'x');
  EXPECT_EQ(quote(text), '"' + std::string(kMaxQuoted - 3, 'x') + "...\"");
}

TEST(QuoteTest, NeverCutsAnEscapeInTwo) {
  for (std::size_t before = 0; before < 8; ++before) {
    const std::string shown = quote(std::string(before, 'x') + std::string(1000, '\n'));
    EXPECT_LE(shown.size(), kMaxQuoted + 2) << before;
    EXPECT_EQ(shown.substr(shown.size() - 8), R"(\x0a...")") << before;
  }
}

TEST(QuoteTest, LeavesPlainNamesBare) {
  EXPECT_EQ(quote_if_needed("main"), "main");
  EXPECT_EQ(quote_if_needed("a\nb"), R"("a\x0ab")");
  EXPECT_EQ(quote_if_needed(std::string(100, 'x')), quote(std::string(100, 'x')));
}

}  // namespace
}  // namespace tangram
