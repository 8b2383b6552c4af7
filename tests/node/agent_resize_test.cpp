#include "tests/node/agent_fixture.hpp"

#include <gtest/gtest.h>

namespace tangram::node {
namespace {

/// The agent, on a node where a library limits memory, and a container that runs.
class AgentResizeTest : public AgentTest {
 protected:
  static constexpr const char* kCard = "GPU-a0a0a0a0-a0a0-a0a0-a0a0-a0a0a0a0a0a0";
  void SetUp() override {
    EXPECT_TRUE(replace_file(folder.path() + "/cards.yaml",
                             std::string("version: 1\ncards:\n- {id: ") + kCard +
                                 ", model: A100, memMiB: 1000, isolation: [none]}\n"));
    vendor = library;
    start();
    ASSERT_TRUE(eventually([&] { return kubelet.slots() == 16; }));
    owner = bind("a", kCard);
    ASSERT_EQ(kubelet.admit(owner), "");
    ASSERT_EQ(kubelet.start_container(owner), "");
    grant = model::Grant{.pod_uid = owner.uid,
                         .node = "n1",
                         .issued_at = "2026-01-01T00:00:00Z",
                         .isolation = model::Isolation::kNone,
                         .containers = {},
                         .signature = {}};
  }
  /// As the extender does it.
  void revise(std::int64_t mib) {
    ++grant.revision;
    model::GrantedCard card{.uuid = kCard,
                            .memory = Mebibytes(mib),
                            .compute = MilliGpu(500),
                            .memory_limit = Mebibytes(mib),
                            .compute_limit = MilliGpu(500),
                            .whole = false};
    grant.containers = {{"main", {card}}};
    std::string text = encode(grant);
    std::string patch;
    json::Writer out(patch);
    out.begin_object().key("metadata").begin_object().key("annotations").begin_object();
    out.member("tangram.dev/gpu-grant", text).end_object().end_object().end_object();
    ASSERT_TRUE(api.call(
        testing::write_request(kube::Method::kPatch, "/api/v1/namespaces/ml/pods/a", patch)));
  }
  model::ResizeAnswers answers() {
    const auto node = read_own_node(api, "n1", std::chrono::seconds(1));
    return node ? previous_resizes(*node) : model::ResizeAnswers{};
  }
  bool applied(int revision) {
    const auto now = answers();
    const auto found = now.find(owner.uid);
    return found != now.end() && found->second.applied == revision;
  }
  /// What the container's processes go by, in MiB.
  std::uint64_t limit() {
    const std::string device = kubelet.device_of(owner);
    const std::string file =
        library->shares() + "/" + device.substr(device.find('=') + 1) + "/limits";
    const shim::LimitsPage* const page = shim::map_limits(file.c_str());
    if (page == nullptr) return 0;
    const std::uint64_t bytes = page->cards[0].memory_bytes;
    shim::unmap_limits(page);
    return bytes >> 20U;
  }

  std::shared_ptr<LibraryVendor> library = std::make_shared<LibraryVendor>(folder.path());
  testing::FakeKubelet::Owner owner;
  model::Grant grant;
};

TEST_F(AgentResizeTest, AChangedGrantReachesARunningContainer) {
  ASSERT_EQ(limit(), 500U);
  EXPECT_TRUE(answers().empty());
  revise(200);
  EXPECT_TRUE(eventually([&] { return applied(1); }));
  EXPECT_EQ(limit(), 200U);
  revise(800);
  EXPECT_TRUE(eventually([&] { return applied(2) && limit() == 800; }));
  EXPECT_TRUE(
      eventually([&] { return shows(R"(tangram_node_resizes_total{result="applied"} 2)"); }));
  ASSERT_EQ(kubelet.start_container(owner), "");
  EXPECT_NE(spec(owner).find("TANGRAM_MEMORY_LIMIT_BYTES=838860800"), std::string::npos);
  ASSERT_TRUE(api.call(testing::write_request(kube::Method::kDelete, "/api/v1/namespaces/ml/pods/a",
                                              R"({"gracePeriodSeconds":0})")));
  EXPECT_TRUE(eventually([&] { return answers().empty(); }));
}

TEST_F(AgentResizeTest, AnotherAgentGoesOnWithIt) {
  revise(200);
  ASSERT_TRUE(eventually([&] { return applied(1); }));
  agent.reset();
  revise(1001);
  start();
  EXPECT_TRUE(eventually([&] {
    const auto now = answers();
    return now.contains(owner.uid) && now.at(owner.uid).refused == 2;
  }));
  EXPECT_EQ(answers().at(owner.uid).why, model::ResizeRefusal::kNoRoom);
  EXPECT_EQ(limit(), 200U);
  EXPECT_NE(metrics().find(std::string("pod=\"a\",uuid=\"") + kCard + "\"} 209715200\n"),
            std::string::npos)
      << "what the pod has";
  revise(200);
  EXPECT_TRUE(eventually([&] { return applied(3); }));
}

}  // namespace
}  // namespace tangram::node
