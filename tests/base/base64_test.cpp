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

TEST(Base64Test, EncodesThemBack) {
  for (const char* text : {"", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "+/8A"}) {
    EXPECT_EQ(base64_encode(*base64_decode(text)), text);
  }
}

TEST(Base64Test, RefusesWhatIsNone) {
  for (const char* bad : {"Zg", "Zg=", "Z===", "====", "Zg==Zg==", "Zm9 ", "-_8A", "Zg=a"}) {
    EXPECT_EQ(base64_decode(bad), std::nullopt) << bad;
  }
}

}  // namespace
}  // namespace tangram
