#include "base/one_line.hpp"

#include <gtest/gtest.h>

namespace tangram {
namespace {

TEST(OneLineTest, KeepsWhatCanBeRead) {
  for (const char* text : {"", "XID 79: \"fell off the bus\"", "caf\xc3\xa9 \xc2\xa0",
                           "\xe2\x86\x92 \xf0\x9f\x98\x80", "\xd7\x90\xd7\x91"}) {
    EXPECT_EQ(one_line(text), text);
  }
}

TEST(OneLineTest, ReplacesWhatEndsALineOrTurnsIt) {
  const struct {
    const char* text;
    const char* line;
  } rows[] = {{"a\nb\r\tc\x7f", "a?b??c?"},
              {"\x1b[2J", "?[2J"},
              {"a\xc2\x85"
               "b\xc2\x9b",
               "a?b?"},  // U+0085, U+009B
              {"a\xe2\x80\xa8"
               "b\xe2\x80\xa9",
               "a?b?"},  // U+2028, U+2029
              {"\xe2\x80\xae"
               "dne\xe2\x80\xac",
               "?dne?"},                                    // U+202E, U+202C
              {"\xe2\x81\xa6x\xe2\x81\xa9", "?x?"},         // U+2066, U+2069
              {"\xe2\x80\x8e\xe2\x80\x8f\xd8\x9c", "???"},  // U+200E, U+200F, U+061C
              {"a\xe2\x80\x8b"
               "b\xe2\x80\x8d\xef\xbb\xbf",
               "a?b??"}};  // U+200B, U+200D, U+FEFF
  for (const auto& row : rows) {
    EXPECT_EQ(one_line(row.text), row.line);
    EXPECT_EQ(one_line(row.line), row.line);
  }
}

TEST(OneLineTest, ReplacesBytesThatAreNoUtf8) {
  EXPECT_EQ(one_line("\xff"), "?");
  EXPECT_EQ(one_line("a\xe2\x80"), "a??");
  EXPECT_EQ(one_line("\xc0\x8a"), "??") << "a line end, written longer than it must be";
  EXPECT_EQ(one_line("\xe0\x80\x8a"), "???");
  EXPECT_EQ(one_line("\xed\xa0\x80"), "???") << "half of a pair";
  EXPECT_EQ(one_line("\xf4\x90\x80\x80"), "????") << "above the last one";
  EXPECT_EQ(one_line("\xc3(x"), "?(x");
}

}  // namespace
}  // namespace tangram
