#include "base/base64.hpp"

#include <gtest/gtest.h>

namespace tangram {
namespace {

TEST(Base64Test, DecodesTheExamplesOfRfc4648) {
  EXPECT_EQ(base64_decode(""), "");
  EXPECT_EQ(base64_decode("Zg=="), "f");
  EXPECT_EQ(base64_decode("Zm8="), "fo");
  EXPECT_EQ(base64_decode("Zm9v"), "foo");
  EXPECT_EQ(base64_decode("Zm9vYg=="), "foob");
  EXPECT_EQ(base64_decode("Zm9v\nYmFy\r\n"), "foobar");
  EXPECT_EQ(base64_decode("+/8A"), std::string("\xFB\xFF\0", 3));
}

TEST(Base64Test, EncodesTheExamplesOfRfc4648) {
  EXPECT_EQ(base64_encode(""), "");
  EXPECT_EQ(base64_encode("f"), "Zg==");
  EXPECT_EQ(base64_encode("fo"), "Zm8=");
  EXPECT_EQ(base64_encode("foo"), "Zm9v");
  EXPECT_EQ(base64_encode("foob"), "Zm9vYg==");
  EXPECT_EQ(base64_encode(std::string_view("\xFB\xFF\0", 3)), "+/8A");
}

TEST(Base64Test, DecodesWhatItEncoded) {
  std::string bytes;
  for (int length = 0; length < 300; ++length) {
    EXPECT_EQ(base64_decode(base64_encode(bytes)), bytes);
    bytes += static_cast<char>(length * 37);
  }
}

TEST(Base64Test, RefusesWhatIsNone) {
  for (const char* bad : {"Zg", "Zg=", "Z===", "====", "Zg==Zg==", "Zm9 ", "-_8A", "Zg=a"}) {
    EXPECT_EQ(base64_decode(bad), std::nullopt) << bad;
  }
}

}  // namespace
}  // namespace tangram
