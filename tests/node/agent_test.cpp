#include "tests/node/agent_fixture.hpp"

#include <gtest/gtest.h>

namespace tangram::node {
namespace {

TEST_F(AgentTest, ConnectionsThatSayNothingDoNotHoldUpAScrape) {
  start();
  std::array<http::Client, 3> silent;
  for (http::Client& client : silent) {
    ASSERT_TRUE(client.connect("127.0.0.1", agent->port()));
  }
  http::Client client(std::chrono::seconds(4));  // sooner than a silent one is sent away
  ASSERT_TRUE(client.connect("127.0.0.1", agent->port()));
  const auto page = client.request("GET", "/metrics");
  ASSERT_TRUE(page) << page.error().message;
  EXPECT_EQ(page->status, 200);
}

TEST_F(AgentTest, WritesTheVendorsLabelsOnlyWithTheFlag) {
  vendor = std::make_shared<LibraryVendor>(folder.path());
  const auto labels = [&] { return read_own_node(api, "n1", std::chrono::seconds(1))->labels; };
  gpu_labels = true;
  start();
  EXPECT_TRUE(eventually([&] { return labels() == NodeLabels{{"cards", "2"}}; }));
  agent.reset();
  gpu_labels = false;
  start();
  EXPECT_TRUE(eventually([&] { return labels().empty(); }));
}

TEST_F(AgentTest, FromCardsToAContainer) {
  start();
  ASSERT_TRUE(eventually([&] { return published().size() == 2 && kubelet.slots() == 32; }));
  const auto a = bind("a", "GPU-b");
  ASSERT_EQ(kubelet.admit(a), "");
  ASSERT_EQ(kubelet.start_container(a), "");
  EXPECT_NE(spec(a).find("TANGRAM_CARD_UUIDS=GPU-b"), std::string::npos);
  EXPECT_TRUE(eventually([&] {
    return shows(
        R"(tangram_node_pod_memory_limit_bytes{namespace="ml",pod="a",uuid="GPU-b"} 524288000)");
  })) << metrics();
  EXPECT_TRUE(shows(R"(tangram_node_container_starts_total{result="prepared"} 1)"));
  EXPECT_TRUE(shows(R"(tangram_node_card_healthy{uuid="GPU-a",model="A100"} 1)"));
  EXPECT_TRUE(shows("tangram_node_registered 1"));
  EXPECT_TRUE(shows("tangram_node_slots 32"));
  EXPECT_TRUE(eventually([&] {
    return metrics().find(R"(tangram_node_memory_checks_total{result="done"})") !=
               std::string::npos &&
           !shows(R"(tangram_node_memory_checks_total{result="done"} 0)");
  }));
  const double lag = value("tangram_node_watch_lag_seconds");
  EXPECT_GE(lag, 0);
  EXPECT_LT(lag, 60) << "the clock of this process did not begin with it";
}

TEST_F(AgentTest, OnANodeOfAmdAContainerGetsItsPartition) {
  const amd::FakeMachine machine;
  machine.add_cpx();
  auto of_amd =
      std::make_shared<amd::Amd>(amd::Settings{.places = {}, .cgroups = machine.cgroups()});
  of_amd->set_places({.host_root = machine.root(), .run_dir = folder.path() + "/run"});
  vendor = std::move(of_amd);
  start();
  ASSERT_TRUE(eventually([&] { return published().size() == 8; }));
  EXPECT_EQ(published()[2].id, "AMD-8f1c2d3e4a5b6c7d-cpx2");
  EXPECT_EQ(published()[2].model, "MI300X OAM CPX NPS4");
  EXPECT_EQ(published()[2].memory_limits, model::MemoryLimits::kNone);
  ASSERT_TRUE(eventually([&] { return kubelet.slots() == 128; }));
  const auto a = bind("a", "AMD-8f1c2d3e4a5b6c7d-cpx2");
  ASSERT_EQ(kubelet.admit(a), "");
  ASSERT_EQ(kubelet.start_container(a), "");
  const std::string text = spec(a);
  EXPECT_NE(text.find("/dev/kfd"), std::string::npos) << text;
  EXPECT_NE(text.find("/dev/dri/renderD130"), std::string::npos);
  EXPECT_NE(text.find("AMD_VISIBLE_DEVICES=none"), std::string::npos);
  EXPECT_EQ(text.find("/dev/dri/card"), std::string::npos);
  for (const char* const other : {"128", "129", "131", "132", "133", "134", "135"}) {
    EXPECT_EQ(text.find(std::string("renderD") + other), std::string::npos) << other;
  }
}

TEST_F(AgentTest, OnlyWhatKubeletGaveToAnotherPluginTakesCardsOutOfService) {
  const std::string uid = create_on_node("bystander", "nvidia.com/mig-zzz");
  start();
  ASSERT_TRUE(eventually([&] { return published().size() == 2 && kubelet.slots() == 32; }));
  EXPECT_EQ(cordoned(), 0);
  kubelet.give(uid, "nvidia.com/gpu", {"GPU-x"});
  EXPECT_TRUE(eventually([&] { return cordoned() == 2; }));
  ASSERT_TRUE(
      api.call(testing::write_request(kube::Method::kDelete, "/api/v1/namespaces/ml/pods/bystander",
                                      R"({"gracePeriodSeconds":0})")));
  EXPECT_TRUE(eventually([&] { return cordoned() == 0; }));
}

TEST_F(AgentTest, EndsAContainerThatWasCreatedWithoutItsDevice) {
  start();
  ASSERT_TRUE(eventually([&] { return kubelet.slots() == 32; }));
  const auto a = bind("a", "GPU-a");
  const auto b = bind("b", "GPU-a");
  for (const auto& owner : {a, b}) {
    ASSERT_EQ(kubelet.admit(owner), "");
    ASSERT_EQ(kubelet.start_container(owner), "");
  }
  const std::string of_a = spec(a);
  const auto mark = of_a.find("TANGRAM_START=");
  ASSERT_NE(mark, std::string::npos) << of_a;
  runtime.add({.id = "c-a",
               .pod_uid = a.uid,
               .pod = "a",
               .env = {of_a.substr(mark, of_a.find('"', mark) - mark)}});
  // What it could know from an earlier start.
  const std::string device = kubelet.device_of(b);
  runtime.add({.id = "c-b",
               .pod_uid = b.uid,
               .pod = "b",
               .env = {"ANY=" + device, "NVIDIA_VISIBLE_DEVICES=all",
                       "TANGRAM_ALLOCATION=" + device.substr(device.find('=') + 1)}});
  runtime.add({.id = "c-plain", .pod_uid = "uid-plain", .env = {}});
  EXPECT_TRUE(eventually([&] { return !runtime.ended().empty(); }));
  EXPECT_TRUE(eventually([&] {
    return shows(R"(tangram_node_containers_without_device_total{result="ended"} 1)");
  })) << metrics();
  EXPECT_EQ(runtime.ended(), std::vector<std::string>{"c-b"});
}

TEST_F(AgentTest, CardsThatADraDriverPublishesTakeNoPods) {
  server.slices = R"({"metadata":{"resourceVersion":"1"},"items":[{"spec":{"driver":)"
                  R"("gpu.nvidia.com","nodeName":"n1","devices":[{"name":"gpu-0","attributes":)"
                  R"({"uuid":{"string":"GPU-b"}}}]}}]})";
  start();
  ASSERT_TRUE(eventually([&] { return published().size() == 2; }));
  EXPECT_EQ(cordoned(), 1);
}

TEST_F(AgentTest, AnUnhealthyCardIsPublishedAndTakesNoNewPod) {
  start();
  ASSERT_TRUE(eventually([&] { return kubelet.slots() == 32; }));
  const auto before = bind("before", "GPU-b");
  ASSERT_EQ(kubelet.admit(before), "");
  ASSERT_EQ(kubelet.start_container(before), "");
  write_cards(", healthy: false, reason: smells burnt");
  ASSERT_TRUE(eventually([&] {
    const auto cards = published();
    return cards.size() == 2 && !cards[1].healthy;
  }));
  EXPECT_EQ(kubelet.slots(), 32) << "slots say nothing of cards";
  EXPECT_EQ(kubelet.start_container(before).find("tangram: not yet: card GPU-b is unhealthy"), 0U)
      << "what runs, stays; what has exited, waits";
  const auto after = bind("after", "GPU-b");
  ASSERT_EQ(kubelet.admit(after), "");
  EXPECT_EQ(kubelet.start_container(after).find("tangram: cannot start: card GPU-b is unhealthy"),
            0U);
}

TEST_F(AgentTest, LearnsANewKeyWithoutARestart) {
  const SigningKey first = SigningKey::generate();
  const SigningKey second = SigningKey::generate();
  grant_keys = folder.path() + "/grant.pub";
  ASSERT_TRUE(replace_file(grant_keys, first.verifying_key().to_pem()));
  start();
  ASSERT_TRUE(eventually([&] { return kubelet.slots() == 32; }));
  EXPECT_TRUE(shows("tangram_node_signed_grants_required 1"));
  sign_with(first);
  const auto old = bind("old", "GPU-a");
  sign_with(second);
  const auto fresh = bind("fresh", "GPU-a");
  for (const auto& owner : {old, fresh}) ASSERT_EQ(kubelet.admit(owner), "");
  EXPECT_EQ(kubelet.start_container(old), "");
  EXPECT_NE(kubelet.start_container(fresh).find("is not signed by a key that counts here"),
            std::string::npos);
  // The old key goes as the new one comes: what runs by a grant of the old one goes on.
  ASSERT_TRUE(replace_file(grant_keys, second.verifying_key().to_pem()));
  const std::string id = second.verifying_key().id();
  ASSERT_TRUE(
      eventually([&] { return shows("tangram_node_grant_key_known{key=\"" + id + "\"} 1"); }));
  EXPECT_TRUE(eventually([&] { return kubelet.start_container(fresh).empty(); }));
  EXPECT_EQ(kubelet.start_container(old), "");
  EXPECT_TRUE(eventually([&] {
    return shows(
        R"(tangram_node_pod_memory_limit_bytes{namespace="ml",pod="old",uuid="GPU-a"} 524288000)");
  })) << "its grant is still the one that counts";
  ASSERT_TRUE(replace_file(grant_keys, "nonsense"));
  EXPECT_TRUE(eventually([&] { return shows("tangram_node_grant_keys_stale 1"); }));
  EXPECT_EQ(kubelet.start_container(fresh), "");
}

TEST_F(AgentTest, WithoutItsNodeItSaysSo) {
  Settings settings;
  settings.node = "other";
  settings.state_dir = folder.path() + "/state";
  const auto created = Agent::create(
      settings,
      {.api = api, .reviews = api, .clock = clock, .reporter = {}, .random = [] { return 1U; }});
  ASSERT_FALSE(created);
  EXPECT_NE(created.error().message.find("--node-name"), std::string::npos);
}

}  // namespace
}  // namespace tangram::node
