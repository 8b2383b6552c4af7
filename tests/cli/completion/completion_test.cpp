#include "cli/completion/completion.hpp"

#include "tests/cli/rig.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

namespace tangram::cli {
namespace {

using Words = std::vector<std::string>;

/// The candidates alone, without a cluster.
Words complete(const Words& words) {
  std::istringstream answer(completion_answer(words));
  Words found;
  for (std::string word; std::getline(answer, word) && !word.starts_with(':');) {
    found.push_back(word);
  }
  return found;
}

bool contains(const Words& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

TEST(CompletionTest, NamesTheCommands) {
  EXPECT_EQ(complete({""}), (Words{"autoscaler", "completion", "cordon-card", "defrag", "doctor",
                                   "drain-card", "explain", "fill", "fit", "pods", "reset-card",
                                   "resize", "top", "uncordon-card", "whatif"}));
  EXPECT_EQ(complete({"do"}), Words{"doctor"});
  EXPECT_EQ(complete({"-n", "ml", "e"}), Words{"explain"}) << "options may come first";
  EXPECT_TRUE(complete({"xyz"}).empty());
  EXPECT_FALSE(complete({}).empty());
}

TEST(CompletionTest, NamesTheOptionsOfTheCommandAndOfAll) {
  EXPECT_EQ(complete({"fit", "--gpu-m"}),
            (Words{"--gpu-mem", "--gpu-memory-limits", "--gpu-model"}));
  EXPECT_EQ(complete({"fit", "--out"}), Words{"--output"});
  EXPECT_TRUE(contains(complete({"top", "--"}), "--kubeconfig"));
  EXPECT_FALSE(contains(complete({"top", "--"}), "--gpu-mem"));
}

TEST(CompletionTest, NamesTheValuesThatThereAre) {
  EXPECT_EQ(complete({"top", "-o", ""}), (Words{"json", "wide", "yaml"}));
  EXPECT_EQ(complete({"top", "--output", "y"}), Words{"yaml"});
  EXPECT_EQ(complete({"fit", "--gpu-isolation", ""}), (Words{"mps", "none", "time-slice"}));
  EXPECT_EQ(complete({"fit", "--gpu-memory-limits", ""}), (Words{"driver", "library", "mps"}));
  EXPECT_TRUE(contains(complete({"fit", "--gpu-policy", ""}), "least-waste"));
  EXPECT_EQ(complete({"completion", ""}), (Words{"bash", "fish", "zsh"}));
  EXPECT_TRUE(complete({"fit", ""}).empty()) << "it takes options only";
  EXPECT_TRUE(complete({"top", "-n", ""}).empty()) << "queries no cluster";
  EXPECT_TRUE(complete({"top", "--watch", "-o", "x"}).empty()) << "a flag takes no value";
}

TEST(CompletionTest, AnswersAsKubectlWantsIt) {
  EXPECT_EQ(completion_answer({"top", "-o", "j"}), "json\n:4\n");
  EXPECT_EQ(completion_answer({"whatif", "-f", ""}), ":0\n") << "names of files";
  EXPECT_EQ(completion_answer({"explain", ""}), ":4\n");
}

TEST(CompletionTest, TakesValuesBehindAnEqualsSign) {
  EXPECT_EQ(complete({"top", "--output=y"}), Words{"--output=yaml"});
  EXPECT_EQ(complete({"fit", "--gpu-isolation="}),
            (Words{"--gpu-isolation=mps", "--gpu-isolation=none", "--gpu-isolation=time-slice"}));
  EXPECT_EQ(complete({"top", "--output", "=", "y"}), Words{"yaml"}) << "as bash cuts words";
  EXPECT_EQ(complete({"fit", "--gpu-isolation", "="}), (Words{"mps", "none", "time-slice"}));
  EXPECT_EQ(complete({"--output=wide", "do"}), Words{"doctor"});
  EXPECT_TRUE(complete({"top", "--nothing=y"}).empty());
}

/// The query to a cluster after these words.
NamesQuery query_after(const Words& words) {
  NamesQuery seen;
  const std::string text = completion_answer(words, [&](const NamesQuery& query) {
    seen = query;
    return Words{"one", "two"};
  });
  EXPECT_TRUE(seen.names != Names::kNone || text.find("two") == std::string::npos) << text;
  return seen;
}

TEST(CompletionTest, QueriesAClusterForItsNames) {
  EXPECT_EQ(query_after({"top", ""}).names, Names::kNodes);
  EXPECT_EQ(query_after({"top", "a", ""}).names, Names::kNodes) << "as many as one likes";
  EXPECT_EQ(query_after({"explain", "t"}).names, Names::kPods);
  EXPECT_EQ(query_after({"explain", "train", ""}).names, Names::kNone) << "it takes one";
  EXPECT_EQ(query_after({"cordon-card", ""}).names, Names::kCards);
  EXPECT_EQ(query_after({"pods", "-n", ""}).names, Names::kNamespaces);
  EXPECT_EQ(query_after({"fit", "--namespace=m"}).names, Names::kNamespaces);
  EXPECT_EQ(query_after({"top", "-"}).names, Names::kNone);
  EXPECT_EQ(query_after({""}).names, Names::kNone);
}

TEST(CompletionTest, QueriesTheClusterOfTheLine) {
  const NamesQuery query = query_after({"--context=far", "-n", "ml", "explain", ""});
  EXPECT_EQ(query.target.context, "far");
  EXPECT_EQ(query.ns, "ml");
  EXPECT_FALSE(query.with_namespace);
  const NamesQuery qualified = query_after({"explain", "serving/l"});
  EXPECT_EQ(qualified.ns, "serving");
  EXPECT_TRUE(qualified.with_namespace);
  EXPECT_EQ(completion_answer({"top", "t"},
                              [](const NamesQuery&) {
                                return Words{"one", "two"};
                              }),
            "two\n:4\n");
}

TEST(CompletionTest, FindsNamesInACluster) {
  Rig rig;
  rig.fill();
  rig.ask(testing::write_request(kube::Method::kPost, "/api/v1/nodes", testing::node_json("cpu")));
  const auto names = [&](Names what) {
    Words found = names_in_cluster({.names = what}, rig.api, "ml");
    std::sort(found.begin(), found.end());
    return found;
  };
  EXPECT_EQ(names(Names::kNodes), (Words{"a", "b"})) << "those with cards";
  EXPECT_EQ(names(Names::kPods), (Words{"half", "large"}));
  EXPECT_EQ(names(Names::kCards), (Words{"GPU-a0", "GPU-a1", "GPU-b0"}));
  EXPECT_EQ(names_in_cluster({.names = Names::kPods, .with_namespace = true}, rig.api, "ml").size(),
            2U);
  rig.api.answer("/api/v1/nodes", 403, "{}");
  EXPECT_TRUE(names(Names::kNodes).empty()) << "who may not see it gets no names, and no error";
}

/// What a shell could execute, take for a flag or read as further lines, with an honest name.
const Words kHostile{"$(touch x)", "`x`", "a;b", "a b",      "-rf",   "a\nb",
                     "GPU-0|sh",   ":0",  "",    "GPU-a\\b", "~root", "GPU-good"};

TEST(CompletionTest, CompletesOnlyPlainWords) {
  const auto source = [](const NamesQuery&) { return kHostile; };
  EXPECT_EQ(completion_answer({"cordon-card", ""}, source), "GPU-good\n:4\n");
  EXPECT_EQ(completion_answer({"top", "-n", ""}, source), "GPU-good\n:4\n");
}

TEST(CompletionTest, NamesNoCardsOfANodeWithAHostileId) {
  for (const std::string& id : kHostile) {
    if (id == "GPU-good") continue;
    Rig rig;
    rig.add_node("hostile", {testing::card("GPU-of-it")});
    rig.add_node("honest", {testing::card("GPU-good")});
    rig.publish("hostile", {testing::card("GPU-of-it"), testing::card(id)});
    EXPECT_EQ(names_in_cluster({.names = Names::kCards}, rig.api, "ml"), Words{"GPU-good"}) << id;
  }
}

TEST(CompletionTest, HasAScriptForEachShell) {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    EXPECT_NE(completion_script(shell).find("kubectl-tangram __complete"), std::string::npos)
        << shell;
  }
}

}  // namespace
}  // namespace tangram::cli
