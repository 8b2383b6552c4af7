#include "cli/completion.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace tangram::cli {
namespace {

using Words = std::vector<std::string>;

bool contains(const Words& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

TEST(CompletionTest, NamesTheCommands) {
  EXPECT_EQ(complete({""}), (Words{"completion", "cordon-card", "doctor", "explain", "fit", "pods",
                                   "top", "uncordon-card", "whatif"}));
  EXPECT_EQ(complete({"do"}), Words{"doctor"});
  EXPECT_EQ(complete({"-n", "ml", "e"}), Words{"explain"}) << "options may come first";
  EXPECT_TRUE(complete({"xyz"}).empty());
  EXPECT_FALSE(complete({}).empty());
}

TEST(CompletionTest, NamesTheOptionsOfTheCommandAndOfAll) {
  EXPECT_EQ(complete({"fit", "--gpu-m"}), (Words{"--gpu-mem", "--gpu-model"}));
  EXPECT_EQ(complete({"fit", "--out"}), Words{"--output"});
  EXPECT_TRUE(contains(complete({"top", "--"}), "--kubeconfig"));
  EXPECT_FALSE(contains(complete({"top", "--"}), "--gpu-mem"));
}

TEST(CompletionTest, NamesTheValuesThatThereAre) {
  EXPECT_EQ(complete({"top", "-o", ""}), (Words{"json", "wide", "yaml"}));
  EXPECT_EQ(complete({"top", "--output", "y"}), Words{"yaml"});
  EXPECT_EQ(complete({"fit", "--gpu-isolation", ""}), (Words{"mps", "none", "time-slice"}));
  EXPECT_TRUE(contains(complete({"fit", "--gpu-policy", ""}), "least-waste"));
  EXPECT_EQ(complete({"completion", ""}), (Words{"bash", "fish", "zsh"}));
  EXPECT_TRUE(complete({"fit", ""}).empty()) << "it takes options only";
  EXPECT_TRUE(complete({"top", "-n", ""}).empty()) << "asks no cluster";
  EXPECT_TRUE(complete({"top", "--watch", "-o", "x"}).empty()) << "a flag takes no value";
}

TEST(CompletionTest, AnswersAsKubectlWantsIt) {
  EXPECT_EQ(completion_answer({"top", "-o", "j"}), "json\n:4\n");
  EXPECT_EQ(completion_answer({"whatif", "-f", ""}), ":0\n") << "names of files";
  EXPECT_EQ(completion_answer({"explain", ""}), ":4\n");
}

TEST(CompletionTest, HasAScriptForEachShell) {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    EXPECT_NE(completion_script(shell).find("kubectl-tangram __complete"), std::string::npos)
        << shell;
  }
}

}  // namespace
}  // namespace tangram::cli
