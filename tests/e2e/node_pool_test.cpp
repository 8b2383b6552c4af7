// One agent's command line, and settings of the node's pool by its label.

#include "base/file.hpp"
#include "tests/e2e/environment.hpp"
#include "tests/e2e/node_fixture.hpp"

#include <filesystem>

namespace tangram::e2e {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr const char* kNodePath = "/api/v1/nodes/gpu-node";

/// On one node of two cards, whose agent has files for two pools.
class NodePoolTest : public NodeTest {
 protected:
  NodePoolTest() : NodeTest(node_with_cards(RealNode::kName, 2).cards, 4) {
    write("wide", "sharers-per-card: 6\n");
    write("narrow", "sharers-per-card: 5\n");
    write("broken", "sharers-per-card: many\n");
    node_.stop("tangram-node");
    start();
  }
  ~NodePoolTest() override {
    label("null");
    remove_pods();
    if (node_.pid("tangram-node") != 0) node_.stop("tangram-node");
    forget_allocations();
    fs::remove_all(folder_);
  }

  void start() {
    auto arguments = agent_arguments();
    arguments.insert(arguments.end(), {"--pool-settings", folder_});
    node_.start("tangram-node", arguments);
  }
  /// @param pool  in JSON
  void label(const std::string& pool) {
    cluster_.patch(kNodePath,
                   R"({"metadata":{"labels":{"tangram.dev/agent.config":)" + pool + "}}}");
  }
  bool wait_slots(int slots) {
    return eventually(60s, [&] { return slots_offered() == slots; });
  }
  bool wait_log(const std::string& text) {
    return eventually(30s, [&] { return agent_log().find(text) != std::string::npos; });
  }
  /// As kubelet starts an agent again that has ended.
  bool wait_restart() {
    if (!eventually(30s, [&] { return node_.pid("tangram-node") == 0; })) return false;
    start();
    return true;
  }

 private:
  void write(const std::string& name, const std::string& text) const {
    fs::create_directories(folder_);
    if (!replace_file(folder_ + "/" + name, text)) throw std::runtime_error("cannot write " + name);
  }

  const std::string folder_ = environment().state / "node/pools";
};

TEST_F(NodePoolTest, TheLabelChoosesTheSettingsAndAMistakeChangesNothing) {
  ASSERT_TRUE(wait_slots(8)) << agent_log();
  create(gpu_pod("half", {{"gpu-fraction", "0.5"}}, {"hold"}));
  ASSERT_TRUE(wait_starts(uid_of("half"), "main", 1, 60s)) << agent_log();

  label(R"("none-such")");
  EXPECT_TRUE(wait_log("there are no settings; there are: broken, narrow, wide")) << agent_log();
  label(R"("broken")");
  EXPECT_TRUE(wait_log("broken has a mistake")) << agent_log();
  EXPECT_NE(node_.pid("tangram-node"), 0);
  EXPECT_EQ(slots_offered(), 8);

  label(R"("wide")");
  ASSERT_TRUE(wait_restart()) << agent_log();
  EXPECT_TRUE(wait_slots(12)) << agent_log();
  label(R"("narrow")");
  ASSERT_TRUE(wait_restart()) << agent_log();
  EXPECT_TRUE(wait_slots(10)) << agent_log();
  EXPECT_EQ(starts_.read().size(), 1U) << "its container runs on";
  expect_all_starts_right();
}

}  // namespace
}  // namespace tangram::e2e
