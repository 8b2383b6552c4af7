#include "model/card_names.hpp"

#include <gtest/gtest.h>

#include <set>

namespace tangram::model {
namespace {

TEST(CardNamesTest, AreThoseOfVendors) {
  for (const char* id :
       {"GPU-5f2ac1d0-0000-4000-8000-0123456789ab", "MIG-5f2a", "0000:17:00.0", "x"}) {
    EXPECT_TRUE(is_card_id(id)) << id;
  }
  for (const char* model : {"A100-SXM4-80GB MIG 1g.10gb+me", "Radeon RX 7900 XT/7900 XTX", "T4",
                            "Ellesmere [Radeon RX 470/480]", "Data Center GPU (rev. 2)"}) {
    EXPECT_TRUE(is_card_model(model)) << model;
  }
}

TEST(CardNamesTest, HaveOnlyTheDocumentedCharacters) {
  const std::string letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
  const std::string of_ids = letters + "-_.:";
  const std::string of_models = of_ids + " +/()[]";
  for (int code = 0; code < 256; ++code) {
    const char c = static_cast<char>(code);
    const bool begins = letters.find(c) != std::string::npos;
    EXPECT_EQ(is_card_id(std::string(1, c)), begins) << code;
    EXPECT_EQ(is_card_model(std::string(1, c)), begins) << code;
    EXPECT_EQ(is_card_id(std::string("a") + c), of_ids.find(c) != std::string::npos) << code;
    EXPECT_EQ(is_card_model(std::string("a") + c), of_models.find(c) != std::string::npos) << code;
  }
}

TEST(CardNamesTest, AreLimitedInLength) {
  EXPECT_FALSE(is_card_id(""));
  EXPECT_FALSE(is_card_model(""));
  EXPECT_TRUE(is_card_id(std::string(kMaxName, 'x')));
  EXPECT_FALSE(is_card_id(std::string(kMaxName + 1, 'x')));
  EXPECT_FALSE(is_card_model(std::string(kMaxName + 1, 'x')));
}

TEST(CardNamesTest, TheNearestModelIsOneOrEmpty) {
  EXPECT_EQ(card_model_of("A100-SXM4-80GB MIG 1g.10gb+me"), "A100-SXM4-80GB MIG 1g.10gb+me");
  EXPECT_EQ(card_model_of("A100,`x`\n"), "A100--x--");
  EXPECT_EQ(card_model_of(" -T4"), "T4");
  EXPECT_EQ(card_model_of("\xC3\xA9"
                          "T4\xC2\xAE"),
            "T4--");
  EXPECT_EQ(card_model_of(std::string(300, 'x')), std::string(kMaxName, 'x'));
  EXPECT_EQ(card_model_of("$()"), "");
}

}  // namespace
}  // namespace tangram::model
