// Pods that were written for NVIDIA's device plugin, on a node with its sharing configuration: the
// webhook, kube-scheduler, the extender, the agent and kubelet are real.

#include "base/file.hpp"
#include "tests/e2e/environment.hpp"
#include "tests/e2e/figures.hpp"
#include "tests/e2e/node_fixture.hpp"
#include "tests/e2e/webhook.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace tangram::e2e {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr int kReplicas = 4;
constexpr int kPods = 2 * kReplicas;  // on two cards
const std::string kNodePath = std::string("/api/v1/nodes/") + RealNode::kName;

/// As its users have it: without an annotation, for the default scheduler.
NodePod counting_pod(const std::string& name, const std::string& resource) {
  return {.name = name,
          .containers = {{.name = "main"}},
          .scheduler = "default-scheduler",
          .resources = {{resource, "1"}}};
}

class NodeSharingTest : public NodeTest {
 protected:
  /// With a slot more for each card: without one, kube-scheduler does not ask about a pod.
  NodeSharingTest() : NodeTest(node_with_cards(RealNode::kName, 2).cards, kReplicas + 1) {
    extender_.kill();
    scheduler_ = webhook_.scheduler();
    write("whole", "version: v1\n");
    write("quarters",
          "version: v1\nsharing:\n  timeSlicing:\n    resources:\n"
          "    - {name: nvidia.com/gpu, replicas: 4}\n");
    write("renamed",
          "version: v1\nsharing:\n  timeSlicing:\n    renameByDefault: true\n    resources:\n"
          "    - {name: nvidia.com/gpu, replicas: 2}\n");
    node_.stop("tangram-node");
    auto arguments = agent_arguments();
    arguments.insert(arguments.end(), {"--sharing-configs", folder_, "--sharing-default", "whole"});
    node_.start("tangram-node", arguments);
    if (!wait_node_offers_slots(60s)) throw std::runtime_error("no slots:\n" + agent_log());
  }
  ~NodeSharingTest() override {
    label("null");
    remove_pods();
    node_.stop("tangram-node");
    fs::remove_all(folder_);
  }

  /// @param file  in JSON
  void label(const std::string& file) {
    cluster_.patch(kNodePath,
                   R"({"metadata":{"labels":{"nvidia.com/device-plugin.config":)" + file + "}}}");
  }
  bool wait_published(const std::string& replicas) {
    return eventually(30s, [&] { return cards_published().find(replicas) != std::string::npos; });
  }
  [[nodiscard]] std::vector<std::string> running() {
    std::vector<std::string> names;
    for (const auto& [name, pod] : states()) {
      if (pod.all_running()) names.push_back(name);
    }
    return names;
  }
  bool wait_event(const std::string& text) {
    return eventually(30s, [&] { return events_text(*api_).find(text) != std::string::npos; });
  }

 private:
  void write(const std::string& name, const std::string& text) const {
    fs::create_directories(folder_);
    if (!replace_file(folder_ + "/" + name, text)) throw std::runtime_error("cannot write " + name);
  }

  const std::string folder_ = environment().state / "node/sharing";
  Webhook webhook_{cluster_,
                   {.settings = {"admission.scheduler_name=tangram", "foreign.nvidia_sharing=true"},
                    .files = {"webhook-foreign.yaml"}}};
};

TEST_F(NodeSharingTest, UnmodifiedPodsGetTheReplicasOfTheNodesFile) {
  label(R"("quarters")");
  ASSERT_TRUE(wait_published(R"("count":4)")) << cards_published() << agent_log();
  for (int i = 0; i < kPods; ++i) {
    create(counting_pod("pod-" + std::to_string(i), "nvidia.com/gpu"));
  }
  EXPECT_TRUE(eventually(90s, [&] { return std::ssize(running()) == kPods; }))
      << running().size() << agent_log();
  create(counting_pod("too-many", "nvidia.com/gpu"));
  EXPECT_TRUE(wait_event("no GPU card has enough free memory and compute")) << events_text(*api_);
  std::map<std::string, int> pods_of_card;
  for (const Start& start : starts_.read()) {
    ++pods_of_card[start.environment.at("TANGRAM_CARD_UUIDS")];
  }
  EXPECT_EQ(pods_of_card,
            (std::map<std::string, int>{{cards_[0].id, kReplicas}, {cards_[1].id, kReplicas}}));
  EXPECT_EQ(states()["too-many"].node, "");
  Figures("node_sharing").add("pods", kPods).add("cards", 2);
}

TEST_F(NodeSharingTest, ANodeWithoutALabelGivesWholeCardsAndARenamedResourceIsItsOwn) {
  create(counting_pod("first", "nvidia.com/gpu"));
  ASSERT_TRUE(eventually(60s, [&] { return running().size() == 1; })) << agent_log();
  label(R"("renamed")");
  ASSERT_TRUE(wait_published(R"("of":"gpu.shared")")) << cards_published() << agent_log();
  create(counting_pod("plain", "nvidia.com/gpu"));
  EXPECT_TRUE(wait_event("shares its GPU cards under another resource")) << events_text(*api_);
  for (const char* const name : {"half-1", "half-2"}) {
    create(counting_pod(name, "nvidia.com/gpu.shared"));
  }
  EXPECT_TRUE(eventually(60s, [&] {
    return running() == std::vector<std::string>{"first", "half-1", "half-2"};
  })) << agent_log();
  starts_.read();
  const auto card_of = [&](const std::string& pod) {
    const auto starts = starts_.of(uid_of(pod));
    return starts.empty() ? "" : starts.front().environment.at("TANGRAM_CARD_UUIDS");
  };
  EXPECT_EQ(card_of("half-1"), card_of("half-2"));
  EXPECT_NE(card_of("first"), card_of("half-1")) << "its card stays its own";
  label(R"("missing")");
  EXPECT_TRUE(wait_event("which is no sharing configuration")) << events_text(*api_);
}

}  // namespace
}  // namespace tangram::e2e
