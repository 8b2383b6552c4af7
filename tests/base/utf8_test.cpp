#include "base/utf8.hpp"

#include <gtest/gtest.h>

namespace tangram {
namespace {

TEST(Utf8PrefixTest, CutsBetweenCharacters) {
  EXPECT_EQ(utf8_prefix("abc", 3), "abc");
  EXPECT_EQ(utf8_prefix("abc", 2), "ab");
  EXPECT_EQ(utf8_prefix("", 0), "");
  const std::string_view text = "aé€😀";  // of 1, 2, 3 and 4 bytes
  const std::size_t whole[] = {0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10};
  for (std::size_t bytes = 0; bytes <= text.size(); ++bytes) {
    EXPECT_EQ(utf8_prefix(text, bytes).size(), whole[bytes]) << bytes;
  }
}

}  // namespace
}  // namespace tangram
