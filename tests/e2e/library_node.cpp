#include "tests/e2e/library_node.hpp"

#include "tests/e2e/kubectl.hpp"

#include <fstream>

namespace tangram::e2e {

namespace fs = std::filesystem;

namespace {

const std::string kUuid = "GPU-a0a0a0a0-a0a0-a0a0-a0a0-a0a0a0a0a0a0";

std::vector<CardSpec> one_card(int card_mib) {
  auto cards = node_with_cards(RealNode::kName, 1).cards;
  cards[0].id = kUuid;
  cards[0].model = "Tesla V100-SXM2-32GB";
  cards[0].memory_mib = card_mib;
  return cards;
}

std::string mount(const std::string& host, const std::string& container, const char* access) {
  return "  - {hostPath: " + host + ", containerPath: " + container + ", options: [" + access +
         ", nosuid, nodev, bind]}\n";
}

}  // namespace

LibraryNodeTest::LibraryNodeTest() : NodeTest(one_card(kCardMib)) {
  make_driver();
  fs::create_directories(root_ / "stand-ins");
  for (const char* const library : {STAND_IN_CUDA, STAND_IN_NVML}) {
    fs::copy_file(library, root_ / "stand-ins" / fs::path(library).filename(),
                  fs::copy_options::overwrite_existing);
  }
  node_.stop("tangram-node");
  start_library_agent();
  EXPECT_TRUE(eventually(
      30s,
      [&] { return cards_published().find(R"("memoryLimits":"library")") != std::string::npos; }))
      << cards_published() << agent_log();
}
LibraryNodeTest::~LibraryNodeTest() {
  remove_pods();
  fs::remove_all(root_ / "nvidia-cdi");  // other tests have cards without it
}

void LibraryNodeTest::start_library_agent(const std::vector<std::string>& more) {
  std::vector<std::string> arguments = agent_arguments();
  arguments.insert(arguments.end(), {"--nvidia-cdi-dirs", (root_ / "nvidia-cdi").string(),
                                     "--stand-ins", (root_ / "stand-ins").string()});
  arguments.insert(arguments.end(), more.begin(), more.end());
  node_.start("tangram-node", arguments);
}

/// A CDI spec as NVIDIA's toolkit writes it, with the fake driver, and the card that it shares.
void LibraryNodeTest::make_driver() {
  fs::create_directories(root_ / "nvidia-cdi");
  const std::string cards = root_ / fake_cuda::kCardFile;
  card_ = fake_cuda::create_card_file(cards.c_str());
  ASSERT_NE(card_, nullptr);
  card_->count = 1;
  card_->cards[0].uuid.fill(0xa0);
  card_->cards[0].bytes = kCardMib * kMiB;
  card_->cards[0].pool_chunk = card_->cards[0].pitch = 2 * kMiB;
  const std::string machine = root_ / "container-nvml.json";
  std::ofstream(machine) << R"({"driverVersion": "550.163.01", "cudaVersion": "12.4", "cards": [)"
                         << R"({"uuid": ")" << kUuid << R"(", "model": "Tesla V100-SXM2-32GB",)"
                         << R"( "memMiB": )" << kCardMib << R"(, "pci": "0000:17:00.0",)"
                         << R"( "computeCapability": "7.0", "utilization": 37}]})";
  const std::string lib = "/usr/lib/x86_64-linux-gnu/";
  std::ofstream(root_ / "nvidia-cdi/nvidia.yaml")
      << "cdiVersion: 0.5.0\nkind: nvidia.com/gpu\ndevices:\n- name: " << kUuid
      << "\n  containerEdits:\n    env: [FAKE_CARD=0, "
         "TANGRAM_FAKE_NVML=/fake_nvml.json]\ncontainerEdits:\n  mounts:\n"
      << mount(FAKE_CUDA, lib + "libcuda.so.1", "ro")
      << mount(FAKE_NVML, lib + "libnvidia-ml.so.1", "ro") << mount(cards, "/fake_cuda.cards", "rw")
      << mount(machine, "/fake_nvml.json", "ro");
}

void LibraryNodeTest::create_and_wait(const std::string& name, const std::string& fraction,
                                      const std::map<std::string, std::string>& more,
                                      const std::map<std::string, std::string>& env) {
  std::map<std::string, std::string> share{{"gpu-fraction", fraction},
                                           {"gpu-isolation", "time-slice"}};
  share.insert(more.begin(), more.end());
  NodePod pod = gpu_pod(name, share);
  pod.containers.front().image = "e2e.tangram.dev/libc:1";
  pod.containers.front().env = env;
  create(pod);
  ASSERT_TRUE(wait_starts(uid_of(name), "main", 1, 60s)) << agent_log();
}

std::string LibraryNodeTest::ask(const std::string& pod, const std::string& how,
                                 const std::string& commands) {
  return kubectl({"exec", "-i", pod, "--", "/cuda_client", how}, commands).text;
}

}  // namespace tangram::e2e
