// Containers that share cards by MPS do no harm to others through what their card's daemon needs.

#include "tests/e2e/environment.hpp"
#include "tests/e2e/node_fixture.hpp"

#include <fstream>
#include <set>
#include <sstream>

namespace tangram::e2e {
namespace {

using namespace std::chrono_literals;

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
                       const std::string& fraction, const std::vector<std::string>& program) {
    create(gpu_pod(name,
                   {{"gpu-fraction", fraction}, {"gpu-model", model}, {"gpu-isolation", "mps"}},
                   program));
    if (!wait_starts(uid_of(name), "main", 1, 60s)) return "no start";
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

}  // namespace
}  // namespace tangram::e2e
