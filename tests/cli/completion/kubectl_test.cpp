// `kubectl tangram …` completed by kubectl's own bash script, against an API server over HTTP.

#include "tests/cli/served_rig.hpp"
#include "tests/testing/golden.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace tangram::cli {
namespace {

/// The version of cobra that wrote kubectl's script: 1.7.0 in kubectl 1.28, 1.10.2 in 1.36.
struct Script {
  std::string name;
  std::string file;
};

/// Bash with that script, "kubectl" that runs the plugin's completion, and what the script needs of
/// the package bash-completion.
class KubectlCompletionTest : public ::testing::TestWithParam<Script>, protected ServedRig {
 protected:
  KubectlCompletionTest() {
    // kubectl calls the plugin's kubectl_complete-tangram, which calls the program.
    write("kubectl", "#!/bin/sh\nshift 2\nexec " KUBECTL_TANGRAM " __complete \"$@\"\n");
    std::filesystem::permissions(file("kubectl"), std::filesystem::perms::owner_all);
    write("script.bash", testing::golden("cli/" + GetParam().file) + "\n");
  }

  /// @param line  words of bash: "kubectl tangram top ''"
  /// @param type  COMP_TYPE: "9" for <TAB>, "37" for menu completion
  /// @returns the candidates, each in angle brackets
  std::string complete(const std::string& line, const std::string& type) {
    write("typed", R"(
_init_completion() {
  words=("${COMP_WORDS[@]}") cword=$COMP_CWORD cur=${COMP_WORDS[COMP_CWORD]}
  prev=${COMP_WORDS[COMP_CWORD - 1]}
}
compopt() { :; }
source )" + file("script.bash") +
                       " || exit 1\nCOMP_WORDS=(" + line + ") COMP_TYPE=" + type + R"(
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
__start_kubectl
if ((${#COMPREPLY[@]})); then printf '<%s>' "${COMPREPLY[@]}"; fi
)");
    const std::string command =
        "cd " + folder_.path() + " && env KUBECONFIG=" + file("kubeconfig") +
        " PATH=" + folder_.path() + ":\"$PATH\" bash typed >out 2>&1 </dev/null";
    const int status = std::system(command.c_str());
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    return read("out");
  }
};

TEST_P(KubectlCompletionTest, NamesWhatTheClusterHas) {
  for (const char* type : {"9", "37"}) {
    EXPECT_EQ(complete("kubectl tangram cordon-card ''", type), "<GPU-a0><GPU-a1><GPU-b0>");
    EXPECT_EQ(complete("kubectl tangram top ''", type), "<a><b>");
    EXPECT_EQ(complete("kubectl tangram explain h", type), "<half>");
  }
}

TEST_P(KubectlCompletionTest, ExecutesNothingThatACardIsNamed) {
  const std::string mark = file("mark");
  rig_.publish("b", {testing::card("$(touch " + mark + ")"), testing::card("`touch " + mark + "`"),
                     testing::card("x;touch " + mark)});
  for (const char* type : {"9", "37"}) {
    for (const char* command : {"cordon-card", "uncordon-card"}) {
      EXPECT_EQ(complete(std::string("kubectl tangram ") + command + " ''", type),
                "<GPU-a0><GPU-a1>");
      EXPECT_FALSE(std::filesystem::exists(mark)) << command << ", COMP_TYPE " << type;
    }
    EXPECT_EQ(complete("kubectl tangram top ''", type), "<a><b>");
    EXPECT_FALSE(std::filesystem::exists(mark)) << "top, COMP_TYPE " << type;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Scripts, KubectlCompletionTest,
    ::testing::Values(Script{"Cobra1_7", "kubectl-completion-cobra-1.7.0.bash"},
                      Script{"Cobra1_10", "kubectl-completion-cobra-1.10.2.bash"}),
    [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace tangram::cli
