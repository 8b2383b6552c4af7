#include "base/file.hpp"
#include "base/rapidjson.hpp"
#include "model/annotations.hpp"
#include "model/isolation.hpp"
#include "model/memory_limits.hpp"
#include "policies/registry.hpp"
#include "source_dir.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

namespace tangram {
namespace {

using Names = std::vector<std::string>;

std::string read_page(const std::string& path) {
  auto text = read_file(TANGRAM_SOURCE_DIR "/" + path);
  if (!text) throw std::runtime_error(text.error().message);
  return std::move(*text);
}

/// The `names` that begin the rows of the table with this head.
Names names_in_table(const std::string& page, const std::string& head) {
  std::istringstream lines(page);
  std::string line;
  while (std::getline(lines, line) && !line.starts_with(head)) continue;
  Names names;
  while (std::getline(lines, line) && line.starts_with("|")) {
    if (line.starts_with("| `")) names.push_back(line.substr(3, line.find('`', 3) - 3));
  }
  return names;
}

TEST(PagesTest, AnnotationsPageListsEveryAnnotation) {
  Names wanted;
  for (const auto& annotation : model::kRequestAnnotations) wanted.emplace_back(annotation.key);
  wanted.emplace_back(model::kGrantKey);
  EXPECT_EQ(names_in_table(read_page("docs/annotations.md"), "| annotation | value | rules |"),
            wanted);
}

TEST(PagesTest, NodePageListsEveryIsolationMode) {
  EXPECT_EQ(names_in_table(read_page("docs/node.md"), "| mode | memory | compute |"),
            Names(model::kIsolationNames.begin(), model::kIsolationNames.end()));
}

TEST(PagesTest, PoliciesPageListsEveryPolicy) {
  Names listed = names_in_table(read_page("docs/policies.md"), "| policy | selects | use it |");
  Names wanted(policies::policy_names().begin(), policies::policy_names().end());
  std::ranges::sort(listed);  // the page begins with the default
  std::ranges::sort(wanted);
  EXPECT_EQ(listed, wanted);
}

TEST(PagesTest, GrantSchemaAllowsEveryIsolationMode) {
  rapidjson::Document schema;
  schema.Parse(read_page("docs/schema/grant.schema.json").c_str());
  ASSERT_FALSE(schema.HasParseError());
  Names listed;
  for (const auto& mode : schema["properties"]["isolation"]["enum"].GetArray()) {
    listed.emplace_back(mode.GetString());
  }
  EXPECT_EQ(listed, Names(model::kIsolationNames.begin(), model::kIsolationNames.end()));
}

TEST(PagesTest, GrantSchemaAllowsEveryMeansOfMemoryLimits) {
  rapidjson::Document schema;
  schema.Parse(read_page("docs/schema/grant.schema.json").c_str());
  ASSERT_FALSE(schema.HasParseError());
  Names listed;
  const auto& card = schema["$defs"]["card"]["properties"];
  for (const auto& means : card["memoryLimits"]["enum"].GetArray()) {
    listed.emplace_back(means.GetString());
  }
  EXPECT_EQ(listed, Names(model::kMemoryLimitsNames.begin(), model::kMemoryLimitsNames.end()));
}

}  // namespace
}  // namespace tangram
