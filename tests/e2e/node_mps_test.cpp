// Containers that share cards by MPS do no harm to others through what their card's daemon needs.

#include "tests/e2e/environment.hpp"
#include "tests/e2e/node_fixture.hpp"

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

namespace tangram::e2e {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using Arguments = std::vector<std::string>;

constexpr int kSharers = 4;
constexpr int kShmOfCard = 64 * kSharers;       // MiB
const std::string kPipes = "/run/tangram/mps";  // in containers

std::vector<CardSpec> two_models() {
  auto cards = node_with_cards(RealNode::kName, 2).cards;
  cards[0].model = "A100-SXM4-80GB";
  cards[1].model = "L40S";
  return cards;
}

class NodeMpsTest : public NodeTest {
 protected:
  NodeMpsTest() : NodeTest(two_models(), kSharers) {}

  /// Creates a pod with a share of the card of that model, and waits for its start.
  /// @returns what its program found
  std::string found_by(const std::string& name, const std::string& model,
                       const std::string& fraction, const std::vector<std::string>& program,
                       std::chrono::seconds limit = 60s) {
    create(gpu_pod(name,
                   {{"gpu-fraction", fraction}, {"gpu-model", model}, {"gpu-isolation", "mps"}},
                   program));
    if (!wait_starts(uid_of(name), "main", 1, limit)) return "no start";
    const auto environment = starts_.of(uid_of(name)).front().environment;
    const auto found = environment.find("TANGRAM_E2E_FOUND");
    return found == environment.end() ? "" : found->second;
  }

  [[nodiscard]] std::string daemon_pid(const CardSpec& card) const {
    std::string pid;
    std::ifstream(environment().state / "node/run/tangram/mps" / card.id /
                  "current/pipe/nvidia-cuda-mps-control.pid") >>
        pid;
    return pid;
  }

  [[nodiscard]] bool has_shm_mounts() const {
    std::ifstream mounts("/proc/" + std::to_string(node_.pid("tangram-node")) + "/mounts");
    std::stringstream text;
    text << mounts.rdbuf();
    return text.str().find("tangram-mps") != std::string::npos;
  }
};

TEST_F(NodeMpsTest, ATenantThatFillsItsSharedMemoryDoesNotReachOthers) {
  const auto filled = found_by("filler", "A100*", "0.5", {"fill", "/dev/shm", "1024"});
  EXPECT_EQ(filled, "0 entries before, " + std::to_string(kShmOfCard) + " MiB");
  EXPECT_EQ(found_by("other", "L40S", "0.5", {"fill", "/dev/shm", "1"}), "0 entries before, 1 MiB");
  EXPECT_TRUE(has_shm_mounts());
  expect_all_starts_right();
  remove_pods();
  // A prepared card is kept for a minute.
  EXPECT_TRUE(eventually(90s, [&] { return !has_shm_mounts(); }));
}

TEST_F(NodeMpsTest, ARootClientCannotTakeTheDaemonsPlace) {
  ASSERT_EQ(found_by("neighbour", "A100*", "0.3", {"hold"}), "");
  const std::string daemon = daemon_pid(cards_[0]);
  EXPECT_NE(daemon, "");
  EXPECT_EQ(found_by("seizer", "A100*", "0.3", {"seize", kPipes}),
            "link=EROFS rename=EROFS listen=EADDRINUSE quit=ENOENT");
  EXPECT_EQ(daemon_pid(cards_[0]), daemon);
  EXPECT_NE(found_by("client", "A100*", "0.3", {"mps", kPipes}), "nobody");
  expect_all_starts_right();
}

TEST_F(NodeMpsTest, ATenantWithoutTheVariablesGetsAtMostTheLargestShare) {
  ASSERT_EQ(found_by("large", "A100*", "0.5", {"hold"}), "");
  // Half of 80 GiB; the tenant itself asks for no limit.
  EXPECT_EQ(found_by("small", "A100*", "0.25", {"mps", kPipes}), "memory 40960 compute 50");
  EXPECT_EQ(found_by("alone", "L40S", "0.25", {"mps", kPipes}), "memory 20480 compute 25");
  expect_all_starts_right();
}

/// What a client asks of the daemon in its namespace, through the socket that kubelet mounted into
/// its container.
TEST_F(NodeMpsTest, ClientsGoOnWhileAgentAndKubeletAreKilledAndReachTheNextDaemon) {
  ASSERT_EQ(found_by("client", "A100*", "0.3", {"hold"}), "");
  const std::string daemon = daemon_pid(cards_[0]);
  ASSERT_NE(daemon, "");
  int number = 0;
  const auto expect_served = [&](const std::string& killed) {
    EXPECT_EQ(found_by("next-" + std::to_string(++number), "A100*", "0.1", {"mps", kPipes}),
              "memory 24576 compute 30")
        << "after SIGKILL for " << killed << "\n"
        << agent_log();
    EXPECT_EQ(states()["client"].containers["main"].restarts, 0) << killed;
  };
  for (const char* const program : {"tangram-node", "kubelet"}) {
    const int published = times_published();
    node_.kill(program);
    EXPECT_TRUE(fs::exists("/proc/" + daemon)) << program;
    node_.start(program, program == std::string("kubelet") ? Arguments() : agent_arguments());
    ASSERT_TRUE(wait_slots_published_after(published, 60s)) << agent_log();
    expect_served(program);
    EXPECT_EQ(daemon_pid(cards_[0]), daemon) << program;
  }
  const auto killed = std::chrono::steady_clock::now();
  ASSERT_EQ(::kill(std::stoi(daemon), SIGKILL), 0);
  EXPECT_TRUE(eventually(60s, [&] {
    const std::string next = daemon_pid(cards_[0]);
    return !next.empty() && next != daemon && fs::exists("/proc/" + next);
  })) << agent_log();
  const auto took = std::chrono::steady_clock::now() - killed;
  expect_served("the daemon");
  Figures("NodeMps").add("next_daemon_ms", static_cast<int>(took / 1ms));
  expect_all_starts_right();
}

/// A card with 16 chunks: 0.5 has eight, 0.1 has one. Daemons without partitions, of the tests
/// before, end first, and those with partitions before the next test.
TEST_F(NodeMpsTest, SmPartitionsDivideACardsCompute) {
  const auto ended = [this] { return eventually(150s, [&] { return !has_shm_mounts(); }); };
  ASSERT_TRUE(ended());
  node_.stop("tangram-node");
  auto arguments = agent_arguments();
  arguments.emplace_back("--mps-compute=partitions");
  node_.start("tangram-node", arguments);
  ASSERT_TRUE(eventually(60s, [&] {
    return cards_published().find("\"computeChunks\":16") != std::string::npos;
  })) << agent_log();

  // Without a limit of its own the client has the server's limit of memory, and its partition.
  EXPECT_EQ(found_by("half", "A100*", "0.5", {"mps", kPipes}), "memory 40960 compute 100");
  EXPECT_EQ(found_by("tenth", "A100*", "0.1", {"mps", kPipes}), "memory 40960 compute 100");
  std::set<std::string> partitions;
  for (const auto& [name, milli] : {std::pair("half", "500"), std::pair("tenth", "62")}) {
    const auto seen = starts_.of(uid_of(name)).front().environment;
    EXPECT_FALSE(seen.contains("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE")) << name;
    EXPECT_EQ(seen.at("TANGRAM_COMPUTE_LIMIT_MILLI"), milli);
    partitions.insert(seen.at("CUDA_MPS_SM_PARTITION"));
  }
  EXPECT_EQ(partitions.size(), 2U);

  // Partitions end with their containers: 14 of the 16 chunks are free for another. One that ended
  // within seconds of its preparation may be about to start again: its partition is kept for a
  // minute.
  remove_pods();
  EXPECT_EQ(found_by("next", "A100*", "0.9", {"mps", kPipes}, 120s), "memory 73728 compute 100");
  remove_pods();
  node_.stop("tangram-node");
  start_agent();
  EXPECT_TRUE(ended());
}

}  // namespace
}  // namespace tangram::e2e
