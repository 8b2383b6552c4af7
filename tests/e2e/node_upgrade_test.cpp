// From an earlier version's programs to these and back, with pods that run: no grant is lost, no
// container ends, no card is over-granted. scripts/e2e upgrade REVISION builds the earlier ones.

#include "tests/e2e/node_fixture.hpp"
#include "tests/e2e/raw_json.hpp"

#include <cstdlib>
#include <filesystem>
#include <map>

namespace tangram::e2e {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

fs::path earlier_programs() {
  const char* folder = std::getenv("TANGRAM_E2E_EARLIER");
  return folder == nullptr ? "" : folder;
}

enum class Part { kAgent, kExtender };

struct Order {
  std::string name;
  std::vector<Part> forth;
  std::vector<Part> back;
};

class NodeUpgradeTest : public NodeTest, public ::testing::WithParamInterface<Order> {
 protected:
  void run(Part part, bool earlier) {
    if (part == Part::kExtender) {
      return extender_.replace_by(earlier ? earlier_programs() / "tangram-extender" : fs::path());
    }
    node_.stop("tangram-node");
    auto arguments = agent_arguments();
    if (earlier) {
      arguments.insert(arguments.begin(),
                       "--program=" + (earlier_programs() / "tangram-node").string());
    }
    node_.start("tangram-node", arguments);
    ASSERT_TRUE(wait_node_offers_slots(60s)) << agent_log();
  }

  /// Some more pods, which must start whatever runs.
  void start_more() {
    ++step_;
    const std::string step = "step-" + std::to_string(step_);
    create(gpu_pod(step + "-half", {{"gpu-fraction", "0.5"}}));
    create(gpu_pod(step + "-mem", {{"gpu-mem", "8Gi"}, {"gpu-compute", "0.1"}}));
    create(random_pods(2, step, random_));
    ASSERT_TRUE(wait_all_settled(120s)) << agent_log();
    for (const auto& [name, pod] : states()) {
      EXPECT_TRUE(pod.all_running()) << name << ": " << describe(pod);
    }
  }

  std::map<std::string, std::string> grants() {
    std::map<std::string, std::string> all;
    const auto pods = parse_json(cluster_.get("/api/v1/namespaces/default/pods"));
    for (const auto& pod : pods["items"].GetArray()) {
      all[text_of(pod["metadata"], "name")] =
          text_of(pod["metadata"]["annotations"], "tangram.dev/gpu-grant");
    }
    return all;
  }

  /// What ran before runs, with the same grants, and nothing has restarted.
  void expect_untouched(const std::map<std::string, std::string>& before) {
    const auto after = grants();
    for (const auto& [pod, grant] : before) EXPECT_EQ(after.at(pod), grant) << pod;
    for (const auto& [name, pod] : states()) {
      EXPECT_TRUE(pod.all_running()) << name << ": " << describe(pod);
      for (const auto& [container, state] : pod.containers) {
        EXPECT_EQ(state.restarts, 0) << name << "/" << container;
      }
    }
    expect_books_right();
    expect_all_starts_right();
  }

  void change(Part part, bool earlier) {
    SCOPED_TRACE(std::string(part == Part::kAgent ? "agent" : "extender") +
                 (earlier ? " to the earlier one" : " to this one"));
    const auto before = grants();
    ASSERT_FALSE(before.empty());
    run(part, earlier);
    expect_untouched(before);
    start_more();
    expect_untouched(before);
  }

  std::mt19937 random_ = seeded_random();
  int step_ = 0;
};

TEST_P(NodeUpgradeTest, RunningPodsKeepTheirGrantsForthAndBack) {
  if (earlier_programs().empty()) {
    GTEST_SKIP() << "there are no programs of an earlier version: scripts/e2e upgrade REVISION";
  }
  run(Part::kAgent, true);
  run(Part::kExtender, true);
  start_more();
  expect_untouched(grants());
  for (const Part part : GetParam().forth) change(part, false);
  for (const Part part : GetParam().back) change(part, true);
}

INSTANTIATE_TEST_SUITE_P(
    Orders, NodeUpgradeTest,
    ::testing::Values(
        Order{"agent_first", {Part::kAgent, Part::kExtender}, {Part::kExtender, Part::kAgent}},
        Order{"extender_first", {Part::kExtender, Part::kAgent}, {Part::kAgent, Part::kExtender}}),
    [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace tangram::e2e
