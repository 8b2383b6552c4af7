// Running pods are resized on a real node, while the programs that do it are killed.

#include "kube/objects.hpp"
#include "model/grant.hpp"
#include "shim/pages.hpp"
#include "tests/e2e/kubectl.hpp"
#include "tests/e2e/library_node.hpp"
#include "tests/testing/kube_builders.hpp"

#include <array>
#include <atomic>
#include <cctype>
#include <fstream>
#include <optional>
#include <thread>

namespace tangram::e2e {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using ::testing::HasSubstr;

constexpr const char* kPods = "/api/v1/namespaces/default/pods/";

class NodeResizeTest : public LibraryNodeTest {
 protected:
  // The programs in the containers end with their pods.
  ~NodeResizeTest() override { remove_pods(); }

  void request(const std::string& pod, const std::string& fraction) {
    cluster_.patch(kPods + pod, R"({"metadata":{"annotations":{"tangram.dev/gpu-fraction":")" +
                                    fraction + "\"}}}");
  }
  std::optional<model::Grant> grant(const std::string& pod) {
    const auto read = api_->call(testing::get_request(kPods + pod));
    if (!read || read->status != 200) return std::nullopt;
    const auto decoded = kube::decode_pod(read->body);
    if (!decoded || !decoded->annotations.contains("gpu-grant")) return std::nullopt;
    const auto found = model::decode_grant(decoded->annotations.at("gpu-grant"));
    return found ? std::optional(*found) : std::nullopt;
  }
  int revision(const std::string& pod) {
    const auto found = grant(pod);
    return found ? found->revision : 0;
  }
  /// The pod has this share, and its node's agent has applied that.
  bool has(const std::string& pod, const std::string& uid, std::int64_t milli) {
    const auto found = grant(pod);
    const auto node =
        api_->call(testing::get_request(std::string("/api/v1/nodes/") + RealNode::kName));
    if (!found || !node) return false;
    const std::string applied =
        "\\\"" + uid + "\\\":{\\\"revision\\\":" + std::to_string(found->revision);
    const auto at = node->body.find(applied);
    const bool is_applied = at != std::string::npos && at + applied.size() < node->body.size() &&
                            std::isdigit(node->body[at + applied.size()]) == 0;
    return found->containers.front().cards.front().compute.count() == milli &&
           (found->revision == 0 || is_applied);
  }

  /// What all containers of the card may use at this moment, by the pages that they go by.
  /// @returns nothing if one of them changed meanwhile
  [[nodiscard]] std::optional<std::uint64_t> limits() const {
    const auto first = pages();
    return first == pages() ? std::optional(first) : std::nullopt;
  }
  [[nodiscard]] std::uint64_t pages() const {
    std::uint64_t sum = 0;
    std::error_code ignored;
    for (const auto& share : fs::directory_iterator(root_ / "run/tangram/shares", ignored)) {
      shim::LimitsPage page{};
      std::ifstream file(share.path() / "limits", std::ios::binary);
      file.read(reinterpret_cast<char*>(&page), sizeof page);
      if (file) sum += page.cards.front().memory_bytes;
    }
    return sum;
  }

  /// Allocates and frees at random as long as the pod lives.
  void load(const std::string& pod) {
    programs_.emplace_back([pod] { (void)ask(pod, "plain", "init\nchurn 1 67108864\n"); });
  }

  void kill_and_start(std::mt19937& random) {
    constexpr std::array kPrograms = {"kubelet", "tangram-node", "containerd", "extender"};
    const std::string program = kPrograms[random() % kPrograms.size()];
    ++killed_[program];
    if (program == "extender") {
      extender_.kill();
      extender_.start_ready();
      return;
    }
    node_.kill(program);
    if (program == "tangram-node") {
      start_library_agent();
    } else {
      node_.start(program);
    }
    if (node_.pid("kubelet") == 0) node_.start("kubelet");
  }

  std::map<std::string, int> killed_;
  std::vector<std::jthread> programs_;
};

TEST_F(NodeResizeTest, ARunningContainerIsHeldToItsNewShareAndSeesIt) {
  create_and_wait("one", "0.25");
  const std::string uid = uid_of("one");
  request("one", "0.5");
  ASSERT_TRUE(eventually(30s, [&] { return has("one", uid, 500); })) << agent_log();
  const std::string half = std::to_string(16'255 * kMiB);
  EXPECT_THAT(ask("one", "plain", "init\ninfo\nalloc " + half + "\nalloc 1\n"),
              HasSubstr("\n0 " + half + " " + half + "\n"));
  request("one", "0.1");
  ASSERT_TRUE(eventually(30s, [&] { return has("one", uid, 100); })) << agent_log();
  const std::string tenth = std::to_string(3'251 * kMiB);
  EXPECT_THAT(ask("one", "plain", "init\ninfo\n"), HasSubstr("\n0 " + tenth + " " + tenth + "\n"));
  EXPECT_EQ(starts_.of(uid).size(), 1U) << "it was started again";
  expect_books_right();
}

TEST_F(NodeResizeTest, NoCardIsOverGrantedAndTheLastRequestWinsWhileProgramsDie) {
  const int wanted = sized(1'000, 30);
  const int every = sized(40, 10);  // requests between two kills
  auto random = seeded_random();
  create_and_wait("one", "0.25");
  create_and_wait("two", "0.5");
  const std::string one = uid_of("one");
  const std::string two = uid_of("two");
  load("one");
  load("two");
  std::atomic<std::uint64_t> most = 0;
  std::jthread sampler([&](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      if (const auto now = limits(); now && *now > most) most = *now;
      std::this_thread::sleep_for(1ms);
    }
  });
  const auto deadline = TimePoint::clock::now() + sized<std::chrono::seconds>(25min, 150s);
  int requests = 0;
  while (revision("one") + revision("two") < wanted && TimePoint::clock::now() < deadline) {
    request(random() % 2 == 0 ? "one" : "two", "0." + std::to_string(1 + random() % 8));
    std::this_thread::sleep_for(std::chrono::milliseconds(random() % 300));
    if (++requests % every == 0) kill_and_start(random);
  }
  const int resizes = revision("one") + revision("two");
  request("one", "0.3");
  request("two", "0.6");
  EXPECT_TRUE(eventually(90s, [&] { return has("one", one, 300) && has("two", two, 600); }))
      << extender_.get("/api/v1/explain?namespace=default&pod=one")
      << extender_.get("/api/v1/explain?namespace=default&pod=two") << agent_log();
  sampler.request_stop();
  EXPECT_GE(resizes, wanted);
  EXPECT_GT(most, 0U);
  EXPECT_LE(most, kCardMib * kMiB);
  expect_books_right();
  for (const std::string& uid : {one, two}) EXPECT_EQ(starts_.of(uid).size(), 1U);
  Figures("node_resize")
      .add("requests", requests)
      .add("resizes", resizes)
      .add("kubelet_killed", killed_["kubelet"])
      .add("agent_killed", killed_["tangram-node"])
      .add("containerd_killed", killed_["containerd"])
      .add("extender_killed", killed_["extender"])
      .add("most_granted_mib", static_cast<int>(most / kMiB));
}

}  // namespace
}  // namespace tangram::e2e
