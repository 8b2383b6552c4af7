#include "node/pool_settings.hpp"

#include "base/file.hpp"
#include "tests/testing/temp_folder.hpp"

#include <gtest/gtest.h>

namespace tangram::node {
namespace {

using Arguments = std::vector<std::string>;

class PoolSettingsTest : public ::testing::Test {
 protected:
  void write(const std::string& name, const std::string& text) {
    ASSERT_TRUE(replace_file(folder_.path() + "/" + name, text));
  }
  [[nodiscard]] std::string refusal(const std::string& name) const {
    const auto arguments = pool_arguments(folder_.path(), name);
    return arguments ? "" : arguments.error().message;
  }

  testing::TempFolder folder_;
};

TEST_F(PoolSettingsTest, TheLabelNamesTheFile) {
  write("a100", "");
  EXPECT_EQ(choose_pool(folder_.path(), "a100").value(), PoolChoice("a100"));
  EXPECT_EQ(choose_pool(folder_.path(), "").value(), PoolChoice());
  write("default", "");
  EXPECT_EQ(choose_pool(folder_.path(), "").value(), PoolChoice("default"));
  EXPECT_EQ(choose_pool(folder_.path(), "a100").value(), PoolChoice("a100"));
}

TEST_F(PoolSettingsTest, ALabelThatNamesNoFileSaysWhichThereAre) {
  write("a100", "");
  write("t4", "");
  write("..data", "");
  for (const char* label : {"h100", "..data", "../a100"}) {
    const auto choice = choose_pool(folder_.path(), label);
    ASSERT_FALSE(choice) << label;
    EXPECT_EQ(choice.error().message,
              "label tangram.dev/agent.config names \"" + std::string(label) +
                  "\", for which there are no settings; there are: a100, t4. Change the label, or "
                  "add the settings");
  }
  EXPECT_EQ(choose_pool(folder_.path() + "/none", "").error().code, Errc::kUnavailable);
}

TEST_F(PoolSettingsTest, AFileHoldsFlags) {
  write("a100",
        "# a comment\nsharers-per-card: 8\nmemory-limits: library\naggregates: false\n"
        "driver-roots: [/a, /b]\n");
  EXPECT_EQ(pool_arguments(folder_.path(), "a100").value(),
            (Arguments{"--sharers-per-card=8", "--memory-limits=library", "--aggregates=false",
                       "--driver-roots=/a,/b"}));
  write("empty", "# nothing\n");
  EXPECT_EQ(pool_arguments(folder_.path(), "empty").value(), Arguments());
  EXPECT_EQ(pool_arguments(folder_.path(), PoolChoice()).value(), Arguments());
}

TEST_F(PoolSettingsTest, MistakesNameTheFile) {
  write("p", "- a\n");
  EXPECT_NE(refusal("p").find(folder_.path() + "/p: "), std::string::npos) << refusal("p");
  write("p", "sharers-per-card: {a: b}\n");
  EXPECT_NE(refusal("p").find(folder_.path() + "/p: "), std::string::npos) << refusal("p");
  write("p", "a: 1\n---\nb: 2\n");
  EXPECT_EQ(refusal("p"), folder_.path() + "/p: has several YAML documents; write one");
  for (const char* flag : {"node-name", "kubeconfig", "state-dir", "pool-settings", "grant-keys",
                           "require-signed-grants", "metrics-authentication", "listen",
                           "metrics-tls-cert", "metrics-tls-key"}) {
    write("p", std::string(flag) + ": x\n");
    EXPECT_NE(refusal("p").find(std::string("--") + flag +
                                " is the same for all nodes; set it on the command line"),
              std::string::npos)
        << refusal("p");
  }
  for (const char* key : {"node-name=other", "--sharers-per-card", "Listen", ""}) {
    write("p", std::string("\"") + key + "\": x\n");
    EXPECT_NE(refusal("p").find(" is no flag; write it as --help does"), std::string::npos)
        << refusal("p");
  }
  EXPECT_NE(refusal("missing"), "");
}

TEST_F(PoolSettingsTest, TheLastChoiceIsRemembered) {
  EXPECT_EQ(remembered_pool(folder_.path()).error().code, Errc::kNotFound);
  ASSERT_TRUE(remember_pool(folder_.path(), "a100"));
  EXPECT_EQ(remembered_pool(folder_.path()).value(), PoolChoice("a100"));
  ASSERT_TRUE(remember_pool(folder_.path(), PoolChoice()));
  EXPECT_EQ(remembered_pool(folder_.path()).value(), PoolChoice());
}

TEST_F(PoolSettingsTest, TheAgentRestartsOnceForAnotherUsableChoice) {
  write("a100", "");
  write("t4", "");
  write("broken", "");
  int restarts = 0;
  std::vector<PoolChoice> checked;
  PoolWatch watch(
      folder_.path(), "a100",
      [&](const PoolChoice& pool) -> Result<void> {
        checked.push_back(pool);
        if (pool == "broken") return fail(Errc::kInvalidArgument, "a mistake");
        return {};
      },
      [&] { ++restarts; });
  for (const char* label : {"a100", "none-such", "none-such", "broken", "broken", "a100"}) {
    watch.see(label);
  }
  EXPECT_EQ(restarts, 0);
  EXPECT_EQ(checked, (std::vector<PoolChoice>{"broken"}));  // once
  watch.see("t4");
  watch.see("a100");
  watch.see("t4");
  EXPECT_EQ(restarts, 1);
}

TEST_F(PoolSettingsTest, AFileThatComesAfterItsLabelIsFound) {
  int restarts = 0;
  PoolWatch watch(
      folder_.path(), PoolChoice(), [](const PoolChoice&) { return Result<void>(); },
      [&] { ++restarts; });
  watch.see("t4");
  EXPECT_EQ(restarts, 0);
  write("t4", "");
  watch.see("t4");
  EXPECT_EQ(restarts, 1);
}

TEST_F(PoolSettingsTest, ALostLabelLeadsToTheCommandLineAlone) {
  write("a100", "");
  int restarts = 0;
  PoolWatch watch(
      folder_.path(), "a100", [](const PoolChoice&) { return Result<void>(); },
      [&] { ++restarts; });
  watch.see("");
  EXPECT_EQ(restarts, 1);
}

}  // namespace
}  // namespace tangram::node
