// The cost of the agent on an idle node.

#include "tests/e2e/node_fixture.hpp"

#include <unistd.h>

#include <fstream>
#include <sstream>

namespace tangram::e2e {
namespace {

class NodeRestTest : public NodeTest {
 protected:
  [[nodiscard]] double resident_mib() const {
    std::ifstream status("/proc/" + std::to_string(node_.pid("tangram-node")) + "/status");
    for (std::string line; std::getline(status, line);) {
      if (line.starts_with("VmRSS:")) return std::stod(line.substr(6)) / 1024;
    }
    return 0;
  }

  /// CPU time of all its threads, in user and system mode, since it started.
  [[nodiscard]] double cpu_seconds() const {
    std::ifstream stat("/proc/" + std::to_string(node_.pid("tangram-node")) + "/stat");
    std::string line;
    std::getline(stat, line);
    std::istringstream fields(line.substr(line.rfind(") ") + 2));
    std::string skipped;
    for (int i = 0; i < 11; ++i) fields >> skipped;  // state … cmajflt
    double user = 0;
    double system = 0;
    fields >> user >> system;
    return (user + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
  }
};

TEST_F(NodeRestTest, CostsLittleWithEightCardsAndFortyEightPods) {
  const int pods = sized(48, 8);
  std::vector<NodePod> all;
  for (int i = 0; i < pods; ++i) {
    all.push_back(gpu_pod("rest-" + std::to_string(i), {{"gpu-fraction", "0.125"}}));
  }
  create(all);
  ASSERT_TRUE(wait_all_settled(180s));
  const double after_start = cpu_seconds();
  const auto seconds = sized(120, 5);  // two audits
  std::this_thread::sleep_for(std::chrono::seconds(seconds));
  const double cpu = (cpu_seconds() - after_start) / seconds;
  const double resident = resident_mib();
  Figures("node_agent_at_rest")
      .add("cards", 8)
      .add("pods", pods)
      .add("seconds", seconds)
      .add("rss_mib", resident)
      .add("cpu_cores", cpu);
  expect_all_starts_right();
  EXPECT_LT(resident, 64);
  EXPECT_LT(cpu, 0.02);
}

}  // namespace
}  // namespace tangram::e2e
