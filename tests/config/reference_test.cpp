#include "config/reference.hpp"

#include "config/settings.hpp"
#include "source_dir.hpp"

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
  EXPECT_EQ(*loaded, Config{});
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
    if (const auto* rule = std::get_if<IntegerRule>(&setting.rule)) {
      return std::to_string(rule->get(defaults) == rule->max.value ? rule->min.value
                                                                   : rule->max.value);
    }
    if (setting.key == "listen") return "[::1]:1";
    if (setting.key == "default_isolation") return "none";
    if (setting.key == "source") return "kubeconfig";
    if (setting.key == "level") return "error";
    if (setting.key == "gpushare_unit") return "MiB";
    const std::string value = value_text(setting, defaults);
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
    EXPECT_EQ(value_text(setting, config), value);
    EXPECT_NE(config, Config{});
    // Back to the default, everything must be as before: no other field was touched.
    ASSERT_EQ(assign(setting, value_text(setting, Config{}), config), std::nullopt);
    EXPECT_EQ(config, Config{});
  });
}

TEST_F(SettingTest, HasADefaultWithinBoundsThatStateTheirReasons) {
  for_each([](const Section&, const Setting& setting) {
    EXPECT_TRUE(setting.description.ends_with('.')) << "a full sentence";
    const auto* rule = std::get_if<IntegerRule>(&setting.rule);
    if (rule == nullptr) return;
    const Config defaults;
    EXPECT_LE(rule->min.value, rule->get(defaults));
    EXPECT_GE(rule->max.value, rule->get(defaults));
    EXPECT_FALSE(rule->min.reason.empty());
    EXPECT_FALSE(rule->max.reason.empty());
  });
}

TEST_F(SettingTest, RefusesTheNumbersJustOutsideItsBoundsAndStaysAsItWas) {
  for_each([](const Section&, const Setting& setting) {
    const auto* rule = std::get_if<IntegerRule>(&setting.rule);
    if (rule == nullptr) return;
    Config config;
    EXPECT_EQ(assign(setting, std::to_string(rule->min.value), config), std::nullopt);
    EXPECT_EQ(assign(setting, std::to_string(rule->max.value), config), std::nullopt);
    const Config before = config;
    EXPECT_NE(assign(setting, std::to_string(rule->min.value - 1), config), std::nullopt);
    EXPECT_NE(assign(setting, std::to_string(rule->max.value + 1), config), std::nullopt);
    EXPECT_EQ(config, before);
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
