// Cards in containers of a real kubelet and containerd, by the driver's files alone: no CDI spec of
// NVIDIA's, no runtime of NVIDIA's, and the driver in a folder as a driver container has it.

#include "base/file.hpp"
#include "tests/e2e/device_nodes.hpp"
#include "tests/e2e/environment.hpp"
#include "tests/e2e/node_fixture.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace tangram::e2e {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr unsigned kMajor = 195;  // of NVIDIA's device nodes
constexpr unsigned kControlMinor = 255;
constexpr unsigned kCapabilityMajor = 237;  // as an H100 has it; the driver gets any free one
constexpr const char* kVersion = "550.54.15";

class NodeDriverTest : public NodeTest {
 protected:
  NodeDriverTest() {
    for (std::size_t i = 0; i < cards_.size(); ++i) add_card(i);
    write(host_ + "/sys/module/nvidia/version", std::string(kVersion) + "\n");
    for (const char* const node : {"nvidiactl", "nvidia-uvm"}) write(host_ + "/dev/" + node, "");
  }
  ~NodeDriverTest() override {
    remove_pods();
    node_.stop("tangram-node");
    for (const std::string& made : {driver_, host_}) fs::remove_all(made);
    if (cards_.at(7).instances.empty()) return;
    node_.write_cards(eight_cards());
    forget_allocations();  // perhaps of slots that eight cards do not have
  }

  [[nodiscard]] bool has_device_nodes() const {
    return std::all_of(nodes_.begin(), nodes_.end(),
                       [](const auto& one) { return one->is_there(); });
  }
  /// As the agent sees the host, and as containerd does.
  void install_driver() const {
    for (const std::string& place : {host_ + driver_, driver_}) {
      for (const std::string library : {"libcuda", "libnvidia-ml", "libnvidia-ptxjitcompiler"}) {
        const std::string file = library + ".so." + kVersion;
        write(place + "/usr/lib64/" + file, "of the driver container");
        fs::create_symlink(file, place + "/usr/lib64/" + library + ".so.1");
      }
    }
  }
  void restart_agent() {
    node_.stop("tangram-node");
    std::vector<std::string> arguments = agent_arguments();
    arguments.insert(arguments.end(),
                     {"--cards-by-runtime=false", "--host-root", host_, "--driver-roots", driver_});
    node_.start("tangram-node", arguments);
  }
  /// The capability to use a part of a card, "gpu7/mig/gi1", with its node.
  void add_capability(const std::string& part, unsigned minor) {
    write(host_ + "/proc/driver/nvidia/capabilities/" + part + "/access",
          "DeviceFileMinor: " + std::to_string(minor) + "\nDeviceFileMode: 292\n");
    const std::string path = "/dev/nvidia-caps/nvidia-cap" + std::to_string(minor);
    write(host_ + path, "");
    nodes_.push_back(std::make_unique<DeviceNode>(path, kCapabilityMajor, minor));
  }

 private:
  static void write(const std::string& path, const std::string& text) {
    fs::create_directories(fs::path(path).parent_path());
    ASSERT_TRUE(replace_file(path, text)) << path;
  }
  void add_card(std::size_t minor) {
    const std::string number = std::to_string(minor);
    write(host_ + "/proc/driver/nvidia/gpus/" + number + "/information",
          "GPU UUID: \t " + cards_[minor].id + "\nDevice Minor: \t " + number + "\n");
    write(host_ + "/dev/nvidia" + number, "");
    nodes_.push_back(
        std::make_unique<DeviceNode>("/dev/nvidia" + number, kMajor, static_cast<unsigned>(minor)));
  }

  const std::string host_ = environment().state / "node/host";
  const std::string driver_ = environment().state / "node/driver";
  std::vector<std::unique_ptr<DeviceNode>> nodes_;
  DeviceNode control_{"/dev/nvidiactl", kMajor, kControlMinor};
  DeviceNode memory_{"/dev/nvidia-uvm", kMajor, kControlMinor - 1};
};

TEST_F(NodeDriverTest, AContainerHasItsCardAndNoOtherByTheFilesOfADriverContainer) {
  if (!has_device_nodes()) GTEST_SKIP() << "this machine makes no device nodes";
  install_driver();
  restart_agent();
  ASSERT_TRUE(wait_node_offers_slots(60s)) << agent_log();
  create(gpu_pod("half", {{"gpu-fraction", "0.5"}, {"gpu-isolation", "time-slice"}}));
  const std::string uid = uid_of("half");
  ASSERT_TRUE(wait_starts(uid, "main", 1, 60s)) << agent_log();
  const int process = holding_process_of(uid);
  ASSERT_NE(process, 0);
  const auto devices = nvidia_nodes_of(process);
  EXPECT_EQ(devices.size(), 3U) << "its card, nvidiactl and nvidia-uvm";
  EXPECT_TRUE(devices.contains("nvidiactl"));
  const std::string root = "/proc/" + std::to_string(process) + "/root";
  for (const std::string folder : {"/usr/lib64", "/usr/lib/x86_64-linux-gnu"}) {
    for (const std::string library : {"/libcuda.so.1", "/libnvidia-ml.so.1"}) {
      const auto text = read_file(root + folder + library);
      EXPECT_TRUE(text && *text == "of the driver container") << folder << library;
    }
  }
  expect_books_right();
}

TEST_F(NodeDriverTest, AContainerHasItsMigInstanceAndNoOtherOfTheCard) {
  for (const unsigned instance : {1U, 2U}) {
    const std::string folder = "gpu7/mig/gi" + std::to_string(instance);
    add_capability(folder, 10 * instance);
    add_capability(folder + "/ci0", 10 * instance + 1);
  }
  if (!has_device_nodes()) GTEST_SKIP() << "this machine makes no device nodes";
  install_driver();
  const std::string second = "MIG-0b2a7c1e-5d3f-5a86-9c41-7e6d5f4a3b22";
  cards_.at(7).instances = {"MIG-5f0b1d9c-3c52-5b0e-8f0a-2d4c6e8a0b11", second};
  node_.write_cards(cards_);
  restart_agent();
  const auto is_listed = [&] { return cards_published().find(second) != std::string::npos; };
  ASSERT_TRUE(eventually(60s, is_listed)) << agent_log();
  const std::map<std::string, std::string> whole{{"gpu-fraction", "1"},
                                                 {"gpu-model", "*MIG 1g.10gb"}};
  create({gpu_pod("one", whole), gpu_pod("other", whole)});
  std::set<std::set<std::string>> seen;
  for (const std::string pod : {"one", "other"}) {
    const std::string uid = uid_of(pod);
    ASSERT_TRUE(wait_starts(uid, "main", 1, 60s)) << agent_log();
    seen.insert(nvidia_nodes_of(holding_process_of(uid)));
  }
  const auto nodes_with = [](const std::string& gpu, const std::string& compute) {
    return std::set<std::string>{"nvidia7", "nvidiactl", "nvidia-uvm",
                                 "nvidia-caps/nvidia-cap" + gpu,
                                 "nvidia-caps/nvidia-cap" + compute};
  };
  EXPECT_EQ(seen, (std::set{nodes_with("10", "11"), nodes_with("20", "21")}));
}

/// The driver's container may come after the pod.
TEST_F(NodeDriverTest, WithoutTheDriversFilesAPodWaitsForThem) {
  if (!has_device_nodes()) GTEST_SKIP() << "this machine makes no device nodes";
  restart_agent();
  ASSERT_TRUE(wait_node_offers_slots(60s)) << agent_log();
  create(gpu_pod("early", {{"gpu-fraction", "0.5"}, {"gpu-isolation", "time-slice"}}));
  const std::string uid = uid_of("early");
  const auto is_reported = [&] {
    const auto state = states()["early"];
    const auto main = state.containers.find("main");
    return main != state.containers.end() &&
           main->second.message.find("no place has all files of driver 550.54.15") !=
               std::string::npos;
  };
  ASSERT_TRUE(eventually(60s, is_reported)) << agent_log();
  EXPECT_EQ(holding_process_of(uid), 0);
  install_driver();
  EXPECT_TRUE(wait_starts(uid, "main", 1, 120s)) << agent_log();
  EXPECT_NE(holding_process_of(uid), 0);
}

}  // namespace
}  // namespace tangram::e2e
