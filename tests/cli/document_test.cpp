#include "cli/document.hpp"

#include <gtest/gtest.h>

#include <string>

namespace tangram::cli {
namespace {

TEST(DocumentTest, IndentsAsKubectlDoes) {
  const auto text = indented(R"({"a":[1,{"b":"x\ny"}],"c":{},"d":[],"e":null,"f":1.5,"g":true})");
  ASSERT_TRUE(text);
  EXPECT_EQ(*text, R"({
    "a": [
        1,
        {
            "b": "x\ny"
        }
    ],
    "c": {},
    "d": [],
    "e": null,
    "f": 1.5,
    "g": true
}
)");
}

TEST(DocumentTest, SaysTheSameInYaml) {
  const auto text = to_yaml(
      R"({"nodes":[{"name":"a-1.x","cards":[{"uuid":"GPU-1"},{"uuid":"GPU-2"}],"fits":true},7],)"
      R"("none":{},"empty":[],"nothing":null,"nested":{"deep":["x"]}})");
  ASSERT_TRUE(text);
  EXPECT_EQ(*text, R"(nodes:
  - name: a-1.x
    cards:
      - uuid: GPU-1
      - uuid: GPU-2
    fits: true
  - 7
none: {}
empty: []
nothing: null
nested:
  deep:
    - x
)");
}

TEST(DocumentTest, QuotesWhatYamlWouldTakeForSomethingElse) {
  for (const char* text :
       {"", "true", "No", "null", "12", "0.5", "a: b", "- a", "#x", "NaN", "y"}) {
    const auto yaml = to_yaml("{\"v\":\"" + std::string(text) + "\"}");
    ASSERT_TRUE(yaml);
    EXPECT_EQ(*yaml, "v: \"" + std::string(text) + "\"\n");
  }
  EXPECT_EQ(*to_yaml(R"({"v":"a\"b\n"})"), "v: \"a\\\"b\\n\"\n");
  EXPECT_EQ(*to_yaml(R"({"v":"GPU-1/x_y.z"})"), "v: GPU-1/x_y.z\n");
}

TEST(DocumentTest, WritesASingleValue) {
  EXPECT_EQ(*to_yaml("[]"), "[]\n");
  EXPECT_EQ(*to_yaml("5"), "5\n");
  EXPECT_EQ(*indented("\"x\""), "\"x\"\n");
}

TEST(DocumentTest, RefusesWhatIsNoJson) {
  EXPECT_EQ(indented("{").error().code, Errc::kInvalidArgument);
  EXPECT_EQ(to_yaml("{\"a\":}").error().code, Errc::kInvalidArgument);
}

}  // namespace
}  // namespace tangram::cli
