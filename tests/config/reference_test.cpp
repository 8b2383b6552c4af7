#include "config/reference.hpp"

#include "base/number.hpp"
#include "config/settings.hpp"
#include "source_dir.hpp"
#include "tests/config/values.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>

namespace tangram::config {
namespace {

std::string content(const std::string& path) {
  std::ifstream file(std::string(TANGRAM_SOURCE_DIR "/") + path);
  EXPECT_TRUE(file.is_open()) << path;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(ReferenceTest, FileHoldsTheDefaults) {
  const auto loaded = load_config(content("config/tangram.yaml"), "config/tangram.yaml", {});
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(values_of(*loaded), values_of({}));
}

TEST(ReferenceTest, FilesAreWhatTheTableSays) {
  EXPECT_EQ(content("config/tangram.yaml"), reference_yaml()) << "run scripts/generate/reference";
  EXPECT_EQ(content("docs/configuration.md"), reference_markdown())
      << "run scripts/generate/reference";
}

TEST(ReferenceTest, HelpNamesEverySettingWithItsDefault) {
  const std::string help = settings_help();
  EXPECT_NE(help.find("server.threads = 0   [0..256]\n"), std::string::npos) << help;
  EXPECT_NE(help.find("kube.source = (required)   [local, in-cluster or kubeconfig]\n"),
            std::string::npos);
  for (const Section& section : sections()) {
    for (const Setting& setting : section.settings) {
      EXPECT_NE(help.find(full_name(section, setting) + " = "), std::string::npos);
    }
  }
}

/// The table's rows, each with its section.
class SettingTest : public testing::Test {
 protected:
  template <class Check>
  static void for_each(Check&& check) {
    for (const Section& section : sections()) {
      for (const Setting& setting : section.settings) {
        SCOPED_TRACE(full_name(section, setting));
        check(section, setting);
      }
    }
  }

  /// Another allowed value than the default: proof that a row writes the field it reads.
  static std::string other_value(const Setting& setting) {
    const Config defaults;
    if (const auto& bounds = setting.rule.bounds) {
      const std::string max = std::to_string(bounds->second.value);
      return setting.rule.get(defaults) == max ? std::to_string(bounds->first.value) : max;
    }
    if (setting.key == "listen") return "[::1]:1";
    if (setting.key == "default_isolation") return "none";
    if (setting.key == "source") return "kubeconfig";
    if (setting.key == "level") return "error";
    if (setting.key == "format") return "json";
    if (setting.key == "gpushare_unit") return "MiB";
    if (setting.key == "authentication") return "token";
    const std::string value = setting.rule.get(defaults);
    if (value == "true") return "false";
    if (value == "false") return "true";
    return "other";
  }
};

TEST_F(SettingTest, WritesTheFieldThatItReadsAndNoOther) {
  for_each([](const Section&, const Setting& setting) {
    Config config;
    const std::string value = other_value(setting);
    ASSERT_EQ(assign(setting, value, config), std::nullopt);
    EXPECT_EQ(setting.rule.get(config), value);
    EXPECT_NE(values_of(config), values_of({}));
    // Back to the default, everything must be as before: no other field was touched.
    ASSERT_EQ(assign(setting, setting.rule.get(Config{}), config), std::nullopt);
    EXPECT_EQ(values_of(config), values_of({}));
  });
}

TEST_F(SettingTest, HasADefaultWithinBoundsThatStateTheirReasons) {
  for_each([](const Section&, const Setting& setting) {
    EXPECT_TRUE(setting.description.ends_with('.')) << "a full sentence";
    if (!setting.rule.bounds) return;
    const auto& [min, max] = *setting.rule.bounds;
    const auto value = parse_number<std::int64_t>(setting.rule.get(Config{}));
    ASSERT_TRUE(value);
    EXPECT_LE(min.value, *value);
    EXPECT_GE(max.value, *value);
    EXPECT_FALSE(min.reason.empty());
    EXPECT_FALSE(max.reason.empty());
  });
}

TEST_F(SettingTest, RefusesTheNumbersJustOutsideItsBoundsAndStaysAsItWas) {
  for_each([](const Section&, const Setting& setting) {
    if (!setting.rule.bounds) return;
    const auto& [min, max] = *setting.rule.bounds;
    Config config;
    EXPECT_EQ(assign(setting, std::to_string(min.value), config), std::nullopt);
    EXPECT_EQ(assign(setting, std::to_string(max.value), config), std::nullopt);
    const Config before = config;
    EXPECT_NE(assign(setting, std::to_string(min.value - 1), config), std::nullopt);
    EXPECT_NE(assign(setting, std::to_string(max.value + 1), config), std::nullopt);
    EXPECT_EQ(values_of(config), values_of(before));
  });
}

TEST_F(SettingTest, IsNamedOnce) {
  std::set<std::string> names;
  for_each([&](const Section& section, const Setting& setting) {
    EXPECT_TRUE(names.insert(full_name(section, setting)).second);
  });
  for (const Relation& relation : relations()) {
    EXPECT_TRUE(names.contains(std::string(relation.first))) << relation.first;
    EXPECT_TRUE(names.contains(std::string(relation.second))) << relation.second;
  }
}

}  // namespace
}  // namespace tangram::config
