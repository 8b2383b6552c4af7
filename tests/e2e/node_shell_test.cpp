// The pod that `scripts/e2e up --node` suggests, and kubectl's commands that reach into a
// container.

#include "tests/e2e/kubectl.hpp"
#include "tests/e2e/node_fixture.hpp"

namespace tangram::e2e {
namespace {

using ::testing::HasSubstr;

class NodeShellTest : public NodeTest {};

TEST_F(NodeShellTest, LogsAndExecReachTheSuggestedPod) {
  const auto created = kubectl({"apply", "-f", (environment().state / "pod.yaml").string()});
  ASSERT_EQ(created.status, 0) << created.text;
  ASSERT_TRUE(eventually(60s, [&] { return states()["half"].all_running(); }));
  const std::string half = std::to_string(cards_.front().memory_mib / 2 * 1024LL * 1024LL);

  const auto logs = kubectl({"logs", "half"});
  EXPECT_EQ(logs.status, 0) << logs.text;
  EXPECT_THAT(logs.text, HasSubstr("at most " + half + " bytes and 500 thousandths"));
  EXPECT_THAT(logs.text, HasSubstr("runs until it is ended"));

  const auto seen = kubectl({"exec", "half", "--", "/program", "env"});
  EXPECT_EQ(seen.status, 0) << seen.text;
  EXPECT_THAT(seen.text, HasSubstr("TANGRAM_MEMORY_LIMIT_BYTES=" + half));
}

}  // namespace
}  // namespace tangram::e2e
