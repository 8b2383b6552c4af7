// The scripts of `completion`, in the shells that they are for.

#include "base/file.hpp"
#include "tests/testing/temp_folder.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <string>

namespace tangram::cli {
namespace {

/// The program stands first on the PATH, and what is typed goes through the shell's own functions.
class ShellTest : public ::testing::Test {
 protected:
  static bool has(const std::string& shell) {
    return std::system(("command -v " + shell + " >/dev/null 2>&1").c_str()) == 0;
  }
  /// @returns what it wrote, with what it complained of behind
  std::string run(const std::string& shell, const std::string& script) {
    const std::string file = folder_.path() + "/script";
    const std::string out = folder_.path() + "/out";
    EXPECT_TRUE(replace_file(file, script));
    const std::string program = KUBECTL_TANGRAM;
    const std::string command = "env KUBECONFIG=/none HOME=" + folder_.path() +
                                " PATH=" + program.substr(0, program.rfind('/')) + ":\"$PATH\" " +
                                shell + " " + file + " >" + out + " 2>&1 </dev/null";
    const int status = std::system(command.c_str());
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    const auto text = read_file(out);
    return text ? *text : "";
  }

  testing::TempFolder folder_;
};

TEST_F(ShellTest, BashCompletes) {
  if (!has("bash")) GTEST_SKIP() << "there is no bash";
  const std::string script = R"(
source <(kubectl-tangram completion bash) || exit 1
compopt() { echo "files"; }
type_in() { COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)); _kubectl_tangram; echo "${COMPREPLY[@]}"; }
type_in kubectl-tangram do
type_in kubectl-tangram top -o ''
type_in kubectl-tangram top --output = y
type_in kubectl-tangram fit --gpu-i
type_in kubectl-tangram whatif -f ''
)";
  EXPECT_EQ(run("bash", script), "doctor\njson wide yaml\nyaml\n--gpu-isolation\nfiles\n\n");
}

// The program is replaced: the scripts keep out what a shell would execute even if it names it.
TEST_F(ShellTest, BashInsertsNothingThatItWouldExecute) {
  if (!has("bash")) GTEST_SKIP() << "there is no bash";
  const std::string script = R"(
source <(kubectl-tangram completion bash) || exit 1
kubectl-tangram() { printf '%s\n' '$(touch x)' '`x`' 'a;b' 'a b' 'a|b' GPU-1.a:0 --output=yaml :4; }
COMP_WORDS=(kubectl-tangram cordon-card '') COMP_CWORD=2
_kubectl_tangram; printf '<%s>' "${COMPREPLY[@]}"
)";
  EXPECT_EQ(run("bash", script), "<GPU-1.a:0><--output=yaml>");
}

TEST_F(ShellTest, ZshInsertsNothingThatItWouldExecute) {
  if (!has("zsh")) GTEST_SKIP() << "there is no zsh; apt-get install zsh";
  const std::string script = R"(
compdef() { }
compadd() { printf '<%s>' $found }
source <(kubectl-tangram completion zsh) || exit 1
kubectl-tangram() { printf '%s\n' '$(touch x)' '`x`' 'a;b' 'a b' 'a|b' GPU-1.a:0 --output=yaml :4 }
words=(kubectl-tangram cordon-card '') CURRENT=3
_kubectl_tangram
)";
  EXPECT_EQ(run("zsh -f", script), "<GPU-1.a:0><--output=yaml>");
}

TEST_F(ShellTest, ZshCompletes) {
  if (!has("zsh")) GTEST_SKIP() << "there is no zsh; apt-get install zsh";
  // Stand-ins for functions that exist only while a line is edited: they print their arguments.
  const std::string script = R"(
compdef() { echo "compdef $*" }
compadd() { echo $found }
_files() { echo "files" }
source <(kubectl-tangram completion zsh) || exit 1
type_in() { words=("$@") CURRENT=$#; _kubectl_tangram }
type_in kubectl-tangram do
type_in kubectl-tangram top -o ''
type_in kubectl-tangram top --output=y
type_in kubectl-tangram fit --gpu-i
type_in kubectl-tangram whatif -f ''
)";
  EXPECT_EQ(run("zsh -f", script),
            "compdef _kubectl_tangram kubectl-tangram\ndoctor\njson wide yaml\n--output=yaml\n"
            "--gpu-isolation\nfiles\n\n");
}

TEST_F(ShellTest, FishCompletes) {
  if (!has("fish")) GTEST_SKIP() << "there is no fish; apt-get install fish";
  const std::string script = R"(
kubectl-tangram completion fish | source; or exit 1
cd (mktemp -d); touch pods.yaml
for line in do 'top -o ' 'top --output=y' 'fit --gpu-i' 'whatif -f po'
  complete -C "kubectl-tangram $line"
end
rm pods.yaml; rmdir $PWD
)";
  EXPECT_EQ(run("fish --no-config", script),
            "doctor\njson\nwide\nyaml\n--output=yaml\n--gpu-isolation\npods.yaml\n");
}

}  // namespace
}  // namespace tangram::cli
