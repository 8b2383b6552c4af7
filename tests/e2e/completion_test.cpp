// `kubectl tangram …` completed by the real kubectl, with a card that an attacker on a node named.

#include "base/file.hpp"
#include "tests/e2e/fixture.hpp"
#include "tests/e2e/kubectl.hpp"
#include "tests/testing/temp_folder.hpp"

#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>

namespace tangram::e2e {
namespace {

class CompletionE2eTest : public E2eTest {
 protected:
  CompletionE2eTest() {
    std::filesystem::create_symlink(environment().kubectl, file("kubectl"));
    std::filesystem::create_symlink(KUBECTL_TANGRAM, file("kubectl-tangram"));
    write("kubectl_complete-tangram", "#!/bin/sh\nexec kubectl-tangram __complete --kubeconfig " +
                                          environment().admin_kubeconfig + " \"$@\"\n");
    std::filesystem::permissions(file("kubectl_complete-tangram"),
                                 std::filesystem::perms::owner_all);
    write("script.bash", kubectl({"completion", "bash"}).text);
  }

  [[nodiscard]] std::string file(const std::string& name) const {
    return folder_.path() + "/" + name;
  }
  void write(const std::string& name, const std::string& text) const {
    ASSERT_TRUE(replace_file(file(name), text));
  }

  /// Presses <TAB> behind those words. @returns the candidates, each in angle brackets
  std::string complete(const std::string& line) {
    write("typed", R"(
_init_completion() {
  words=("${COMP_WORDS[@]}") cword=$COMP_CWORD cur=${COMP_WORDS[COMP_CWORD]}
  prev=${COMP_WORDS[COMP_CWORD - 1]}
}
compopt() { :; }
source script.bash || exit 1
COMP_WORDS=()" + line + R"() COMP_TYPE=9 COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
__start_kubectl
printf '<%s>' "${COMPREPLY[@]}"
)");
    const std::string command = "cd " + folder_.path() + " && env PATH=" + folder_.path() +
                                ":\"$PATH\" bash typed >out 2>&1 </dev/null";
    const int status = std::system(command.c_str());
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    const auto text = read_file(file("out"));
    return text ? *text : "";
  }

  testing::TempFolder folder_;
};

TEST_F(CompletionE2eTest, KubectlCompletesHonestCardsOnly) {
  cluster_.add_nodes({node_with_cards("honest", 2), node_with_cards("hostile", 1)});
  EXPECT_EQ(complete("kubectl tangram cordon-card ''"),
            "<GPU-honest-0><GPU-honest-1><GPU-hostile-0>");
  const std::string mark = file("mark");
  const std::string cards = R"({\"version\":1,\"cards\":[{\"id\":\"$(touch )" + mark +
                            R"()\",\"model\":\"T4\",\"memMiB\":1}]})";
  cluster_.patch("/api/v1/nodes/hostile",
                 R"({"metadata":{"annotations":{"tangram.dev/cards":")" + cards + "\"}}}");
  EXPECT_EQ(complete("kubectl tangram cordon-card ''"), "<GPU-honest-0><GPU-honest-1>");
  EXPECT_EQ(complete("kubectl tangram top hos"), "<hostile>");
  EXPECT_FALSE(std::filesystem::exists(mark));
}

}  // namespace
}  // namespace tangram::e2e
