// Half a card on nodes as they are found: NVIDIA's driver in packages of the host or in a driver
// container, its container toolkit (the real one, installed by its own installer) as the default
// runtime, as a RuntimeClass or unused, with CDI in containerd, without, and beside the toolkit's
// plugin of NRI, under containerd 1.7 and 2.1. Each cell starts the container with its card and no
// other, or refuses it with a message that says what to do.

#include "tests/e2e/device_nodes.hpp"
#include "tests/e2e/environment.hpp"
#include "tests/e2e/kubectl.hpp"
#include "tests/e2e/node_fixture.hpp"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <ostream>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace tangram::e2e {
namespace {

namespace fs = std::filesystem;
using Arguments = std::vector<std::string>;

struct Cell {
  std::string containerd;     ///< "1.7", "2.1"
  std::string driver;         ///< "host", "container"
  std::string cdi;            ///< "on", "off", "nri": on, and the toolkit's plugin of NRI
  std::string runtime;        ///< NVIDIA's: "default", "class": the pod names it, "neither"
  std::string names;          ///< --device-ids-by: "auto", "env", "cdi-annotation"
  std::string mode = "auto";  ///< of NVIDIA's runtime: "auto", "legacy"

  [[nodiscard]] std::string name() const {
    std::string all = "containerd" + containerd + "_" + driver + "_cdi" + cdi + "_" + runtime;
    std::erase(all, '.');
    if (names != "auto") all += "_by_" + names;
    std::erase(all, '-');
    return mode == "auto" ? all : all + "_" + mode;
  }
  /// Of a refusal; "" = the container starts.
  [[nodiscard]] std::string refusal() const {
    if (cdi != "off") return "";
    if (names == "auto") return "CDI is off in the node's container runtime";
    if (runtime == "neither") return "the pod names no RuntimeClass";
    return mode == "legacy" ? "nvidia-container-cli" : "";
  }
};

/// Where the variable names the card, only NVIDIA's runtime reads it: with CDI nobody needs that.
/// The mode `legacy`, which NVIDIA's runtime does not choose any more, runs nvidia-container-cli,
/// which is not on this machine, but not for a container that CDI gives its card. Where annotations
/// pass the names, both containerd and NVIDIA's runtime heed them.
std::vector<Cell> all_cells() {
  std::vector<Cell> cells;
  for (const char* const containerd : {"2.1", "1.7"}) {
    for (const char* const driver : {"host", "container"}) {
      for (const char* const cdi : {"on", "nri", "off"}) {
        for (const char* const runtime : {"default", "class", "neither"}) {
          cells.push_back({containerd, driver, cdi, runtime, "auto"});
          if (cells.back().cdi == "off") cells.push_back({containerd, driver, cdi, runtime, "env"});
        }
      }
    }
    cells.push_back({containerd, "host", "on", "default", "auto", "legacy"});
    cells.push_back({containerd, "host", "off", "default", "env", "legacy"});
    cells.push_back({containerd, "host", "on", "default", "cdi-annotation"});
  }
  return cells;
}

void PrintTo(const Cell& cell, std::ostream* out) { *out << cell.name(); }

class NodeStockTest : public NodeTest, public ::testing::WithParamInterface<Cell> {
 protected:
  static void TearDownTestSuite() {
    const RealNode node;
    node.stop("tangram-node");
    node.place_driver("none");
    node.stop("containerd");
    node.start("containerd");
    for (const std::string& name : made_) fs::remove("/dev/" + name);
  }

  NodeStockTest() {
    node_.stop("tangram-node");
    node_.stop("containerd");
    node_.place_driver(cell_.driver);
    fs::remove(log_);
    node_.start("containerd", containerd_arguments());
    cluster_.create("/apis/node.k8s.io/v1/runtimeclasses",
                    R"({"apiVersion":"node.k8s.io/v1","kind":"RuntimeClass",)"
                    R"("metadata":{"name":"nvidia"},"handler":"nvidia"})");
    Arguments arguments = agent_arguments();
    arguments.insert(arguments.end(), {"--cards-by-runtime=false", "--host-root=/proc/self/root",
                                       "--device-ids-by=" + cell_.names});
    before_ = nvidia_nodes();
    node_.start("tangram-node", arguments);
    if (!wait_node_offers_slots(60s)) throw std::runtime_error(agent_log());
  }
  ~NodeStockTest() override {
    remove_pods();
    cluster_.remove("/apis/node.k8s.io/v1/runtimeclasses");
    std::ranges::set_difference(nvidia_nodes(), before_, std::inserter(made_, made_.end()));
  }

  [[nodiscard]] Arguments containerd_arguments() const {
    Arguments all{"--version=" + cell_.containerd, "--toolkit"};
    if (cell_.cdi == "off") all.emplace_back("--cdi=false");
    if (cell_.cdi == "nri") all.emplace_back("--nri");
    if (cell_.runtime == "default") all.emplace_back("--runtime=nvidia");
    if (cell_.names == "cdi-annotation") all.emplace_back("--annotations");
    if (cell_.mode != "auto") all.emplace_back("--mode=" + cell_.mode);
    return all;
  }
  [[nodiscard]] std::string pod_name() const {
    std::string name = cell_.name();
    std::ranges::replace(name, '_', '-');
    return name;
  }
  void create_half() {
    NodePod pod = gpu_pod(pod_, {{"gpu-fraction", "0.5"}, {"gpu-isolation", "time-slice"}});
    if (cell_.runtime == "class") pod.runtime_class = "nvidia";
    create(pod);
    uid_ = uid_of(pod_);
  }

  /// Why the container does not run, by kubelet or by an event; "" = it gives no reason yet.
  std::string refusal() {
    const auto state = states()[pod_];
    const auto main = state.containers.find("main");
    if (main != state.containers.end() && main->second.waiting.ends_with("Error")) {
      return main->second.message;
    }
    std::istringstream events(events_text(*api_));
    for (std::string line; std::getline(events, line);) {
      if (line.starts_with(pod_ + " DeviceMissing")) return line;
    }
    return "";
  }
  [[nodiscard]] bool has_started() {
    starts_.read();
    return !starts_.of(uid_, "main").empty();
  }

  void expect_its_card_and_no_other() {
    const int process = holding_process_of(uid_);
    ASSERT_NE(process, 0);
    const std::string card = starts_.of(uid_, "main").front().environment.at("TANGRAM_CARD_UUIDS");
    const auto own = std::ranges::find(cards_, card, &CardSpec::id);
    ASSERT_NE(own, cards_.end()) << card;
    const std::set<std::string> expected{"nvidia" + std::to_string(own - cards_.begin()),
                                         "nvidia-uvm", "nvidia-uvm-tools", "nvidiactl"};
    EXPECT_EQ(nvidia_nodes_of(process), expected) << "from outside";
    std::istringstream inside(kubectl({"exec", pod_, "--", "/program", "devices"}).text);
    const std::set<std::string> seen{std::istream_iterator<std::string>(inside), {}};
    EXPECT_EQ(seen, expected) << "from inside";
  }

  /// Whether NVIDIA's runtime has created containers since the cell began, by its log.
  [[nodiscard]] bool nvidia_runtime_ran() const {
    return fs::exists(log_) && fs::file_size(log_) > 0;
  }

  static std::set<std::string> nvidia_nodes() { return nvidia_nodes_of(::getpid()); }

  static inline std::set<std::string> made_;  ///< by agents, in the machine's /dev
  const Cell& cell_ = GetParam();
  const fs::path log_ = environment().state / "logs/nvidia-container-runtime.log";
  std::set<std::string> before_;
  const std::string pod_ = pod_name();  // each has its own events
  std::string uid_;
};

TEST_P(NodeStockTest, AHalfHasItsCardOrIsRefused) {
  create_half();
  std::string why;
  EXPECT_TRUE(eventually(60s, [&] { return has_started() || !(why = refusal()).empty(); }));
  const bool started = has_started();
  Figures("NodeStock")
      .add("cell", cell_.name())
      .add("outcome", started       ? "started"
                      : why.empty() ? "nothing"
                                    : "refused")
      .add("nvidia_runtime", nvidia_runtime_ran() ? "ran" : "unused")
      .add("message", why);
  ASSERT_EQ(started, cell_.refusal().empty()) << why << "\n" << agent_log();
  EXPECT_NE(why.find(cell_.refusal()), std::string::npos) << why;
  if (started) expect_its_card_and_no_other();
  expect_books_right();
}

INSTANTIATE_TEST_SUITE_P(Cells, NodeStockTest, ::testing::ValuesIn(all_cells()),
                         [](const auto& test) { return test.param.name(); });

}  // namespace
}  // namespace tangram::e2e
