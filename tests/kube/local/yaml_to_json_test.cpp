#include "kube/local/yaml_to_json.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tangram::kube {
namespace {

std::vector<std::string> objects_of(const std::string& text, YamlMaps maps = YamlMaps::kTexts) {
  const auto objects = yaml_to_json(text, maps);
  EXPECT_TRUE(objects) << (objects ? "" : objects.error().message);
  std::vector<std::string> texts;
  if (!objects) return texts;
  for (const YamlObject& object : *objects) texts.push_back(object.json);
  return texts;
}

TEST(YamlToJsonTest, ReadsPlainScalarsAsKubectlDoes) {
  EXPECT_EQ(objects_of("{a: 0644, b: 0o644, c: 1000, d: 08, e: -5, f: 1.5}"),
            std::vector<std::string>{R"({"a":420,"b":420,"c":1000,"d":8,"e":-5,"f":1.5})"});
  EXPECT_EQ(objects_of("{a: True, b: FALSE, c: Null, d: ~, e: \"true\", f: '0644', g: Truer}"),
            std::vector<std::string>{
                R"({"a":true,"b":false,"c":null,"d":null,"e":"true","f":"0644","g":"Truer"})"});
}

TEST(YamlToJsonTest, ReadsQuantitiesAsTextsUnlessAsWritten) {
  const std::string text = "{limits: {cpu: 2}, replicas: 2}";
  EXPECT_EQ(objects_of(text), std::vector<std::string>{R"({"limits":{"cpu":"2"},"replicas":2})"});
  EXPECT_EQ(objects_of(text, YamlMaps::kAsWritten),
            std::vector<std::string>{R"({"limits":{"cpu":2},"replicas":2})"});
}

TEST(YamlToJsonTest, FindsEveryDocument) {
  const std::vector<std::string> both{R"({"a":1})", R"({"b":2})"};
  EXPECT_EQ(objects_of("a: 1\n---\nb: 2\n"), both);
  EXPECT_EQ(objects_of("--- # Source: a.yaml\na: 1\n--- # Source: b.yaml\nb: 2\n"), both);
  EXPECT_EQ(objects_of("--- {a: 1}\n--- {b: 2}"), both);
  EXPECT_EQ(objects_of("a: 1\n...\n---\r\nb: 2\r\n"), both);
  EXPECT_EQ(objects_of("---\n# nothing\n---\na: '\n  ---'\n"),
            std::vector<std::string>{R"({"a":" ---"})"});
}

TEST(YamlToJsonTest, CountsLinesFromTheTextsBeginning) {
  const auto objects = yaml_to_json("a: 1\n--- # b\nb: 2\n--- {c: 3}\n");
  ASSERT_TRUE(objects);
  ASSERT_EQ(objects->size(), 3U);
  EXPECT_EQ(objects->at(0).line, 1);
  EXPECT_EQ(objects->at(1).line, 3);
  EXPECT_EQ(objects->at(2).line, 4);
  const auto wrong = yaml_to_json("a: 1\n---\n\nb: {b: 1, b: 2}\n");
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().message, "line 4: key \"b\" stands twice");
}

}  // namespace
}  // namespace tangram::kube
