#include "node/agent.hpp"

#include "base/base64.hpp"
#include "base/ed25519.hpp"
#include "base/file.hpp"
#include "http/client.hpp"
#include "kube/client.hpp"
#include "kube/local/api.hpp"
#include "model/cards.hpp"
#include "model/grant_reading.hpp"
#include "node/publish/node_record.hpp"
#include "node/publish/own_node.hpp"
#include "node/vendor/nvidia/nvidia.hpp"
#include "tests/node/kubelet/fake_kubelet.hpp"
#include "tests/node/kubelet/fake_runtime.hpp"
#include "tests/testing/eventually.hpp"
#include "tests/testing/kube_builders.hpp"
#include "tests/testing/passing_api.hpp"
#include "tests/testing/temp_folder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>

namespace tangram::node {
namespace {

using testing::eventually;

/// An API server to which a DRA driver has published cards.
class ApiWithSlices final : public testing::PassingApi {
 public:
  using PassingApi::PassingApi;
  Result<kube::Response> call(const kube::Request& request) override {
    if (slices.empty() || request.path != "/apis/resource.k8s.io/v1/resourceslices") {
      return PassingApi::call(request);
    }
    return kube::Response{.status = 200, .body = slices, .retry_after = {}};
  }

  std::string slices;  ///< a list; "" = it has no such objects
};

/// The whole agent, with cards of a file, before an API server in memory and a kubelet on real
/// sockets.
class AgentTest : public ::testing::Test {
 protected:
  AgentTest() {
    EXPECT_TRUE(api.load_yaml(R"(
apiVersion: v1
kind: Node
metadata: {name: n1}
status:
  capacity: {cpu: "8"}
  nodeInfo: {kubeletVersion: v1.36.3, containerRuntimeVersion: "containerd://2.1.9"}
)"));
    write_cards("");
    kubelet.start();
  }
  void write_cards(const std::string& of_b) {
    EXPECT_TRUE(replace_file(folder.path() + "/cards.yaml",
                             "version: 1\ncards:\n"
                             "- {id: GPU-a, model: A100, memMiB: 1000, isolation: [none]}\n"
                             "- {id: GPU-b, model: A100, memMiB: 1000, isolation: [none]" +
                                 of_b + "}\n"));
  }
  void start() {
    Settings settings;
    settings.node = "n1";
    settings.card_file = folder.path() + "/cards.yaml";
    settings.vendor = std::make_shared<nvidia::Nvidia>(
        nvidia::Settings{.cdi_dirs = {}, .run_dir = folder.path() + "/run"});
    settings.kubelet_dir = folder.path();
    settings.plugin_dir = kubelet.plugin_folder();
    settings.cdi_dir = folder.path() + "/cdi";
    settings.state_dir = folder.path() + "/state";
    settings.runtime_socket = runtime.socket();
    settings.metrics.listen = {"127.0.0.1", 0};
    settings.grant_keys = grant_keys;
    settings.require_signed_grants = !grant_keys.empty();
    auto created =
        Agent::create(settings, {.api = server,
                                 .reviews = server,
                                 .clock = clock,
                                 .reporter = {.controller = "tangram.dev/node", .instance = "n1"},
                                 .random = [this] { return engine(); }});
    ASSERT_TRUE(created) << created.error().message;
    agent = std::move(*created);
  }
  std::vector<model::Card> published() {
    const auto node = read_own_node(api, "n1", std::chrono::seconds(1));
    return node ? previous_cards(*node) : std::vector<model::Card>{};
  }
  /// As any pod author can: bound at creation, without a scheduler. @returns its UID
  std::string create_on_node(const std::string& name, const std::string& resource) {
    const auto created = api.call(
        {.method = kube::Method::kPost,
         .path = "/api/v1/namespaces/ml/pods",
         .query = {},
         .body = testing::pod_json({.name = name, .node = "n1", .limits = {{resource, "1"}}})});
    return kube::decode_pod(created->body)->uid;
  }
  int cordoned() {
    const auto node = read_own_node(api, "n1", std::chrono::seconds(1));
    const auto cards = model::decode_cards(node->cards.value_or(""));
    if (!cards) return -1;
    return static_cast<int>(
        std::ranges::count_if(*cards, [](const model::Card& card) { return card.cordoned; }));
  }
  /// As the extender does it: half of a card.
  testing::FakeKubelet::Owner bind(const std::string& name, const std::string& card) {
    const auto created = api.call(
        {.method = kube::Method::kPost,
         .path = "/api/v1/namespaces/ml/pods",
         .query = {},
         .body = testing::pod_json({.name = name, .limits = {{"tangram.dev/gpu-slot", "1"}}})});
    const std::string uid = kube::decode_pod(created->body)->uid;
    const model::GrantedCard half{.uuid = card,
                                  .memory = Mebibytes(500),
                                  .compute = MilliGpu(500),
                                  .memory_limit = Mebibytes(500),
                                  .compute_limit = MilliGpu(500)};
    const model::Grant grant{.pod_uid = uid,
                             .node = "n1",
                             .issued_at = "2026-01-01T00:00:00Z",
                             .isolation = model::Isolation::kNone,
                             .containers = {{"main", {half}}},
                             .signature = {}};
    const std::string text = model::encode_signed(grant, signer);
    EXPECT_TRUE(kube::bind_pod(api,
                               {.ns = "ml",
                                .name = name,
                                .uid = uid,
                                .node = "n1",
                                .annotations = {{"tangram.dev/gpu-grant", text}}},
                               std::chrono::seconds(1)));
    return {.uid = uid, .pod = name};
  }
  std::string spec(const testing::FakeKubelet::Owner& owner) {
    const std::string device = kubelet.device_of(owner);
    const auto text = read_file(folder.path() + "/cdi/tangram.dev-slot-" +
                                device.substr(device.find('=') + 1) + ".json");
    return text ? *text : "";
  }
  std::string metrics() {
    http::Client client;
    if (!client.connect("127.0.0.1", agent->port())) return "";
    const auto page = client.request("GET", "/metrics");
    return page ? page->body : "";
  }
  bool shows(const std::string& line) { return metrics().find(line + "\n") != std::string::npos; }

  /// Of a series without labels; NaN if there is none.
  double value(const std::string& name) {
    const std::string page = metrics();
    const auto at = page.find("\n" + name + " ");
    return at == std::string::npos ? std::nan("") : std::stod(page.substr(at + name.size() + 2));
  }

  void sign_with(const SigningKey& key) {
    signer = [key](std::string_view text) { return base64_encode(key.sign(text)); };
  }

  std::string grant_keys;  ///< a file; "" = signatures are not looked at
  model::Signer signer;    ///< of bind()
  testing::TempFolder folder;
  SystemClock clock;
  kube::LocalApi api{clock};
  ApiWithSlices server{api};
  testing::FakeKubelet kubelet{folder.path(), 1};
  testing::FakeRuntime runtime{folder.path() + "/runtime.sock"};
  std::mt19937_64 engine{1};
  std::unique_ptr<Agent> agent;
};

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
  EXPECT_EQ(kubelet.start_container(before), "") << "what runs, stays";
  const auto after = bind("after", "GPU-b");
  ASSERT_EQ(kubelet.admit(after), "");
  EXPECT_EQ(kubelet.start_container(after).find("tangram: cannot start: card GPU-b is unhealthy"),
            0U);
}

TEST_F(AgentTest, AnotherAgentGoesOnWhereThisOneEnded) {
  start();
  ASSERT_TRUE(eventually([&] { return kubelet.slots() == 32; }));
  const auto a = bind("a", "GPU-a");
  ASSERT_EQ(kubelet.admit(a), "");
  agent.reset();
  start();
  ASSERT_TRUE(eventually([&] { return kubelet.slots() == 32; }));
  EXPECT_EQ(kubelet.start_container(a), "");
  EXPECT_NE(spec(a).find("TANGRAM_CARD_UUIDS=GPU-a"), std::string::npos);
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

TEST_F(AgentTest, WithBrokenKeysItStartsWhatRanAndNothingNew) {
  const SigningKey key = SigningKey::generate();
  sign_with(key);
  grant_keys = folder.path() + "/grant.pub";
  ASSERT_TRUE(replace_file(grant_keys, key.verifying_key().to_pem()));
  start();
  ASSERT_TRUE(eventually([&] { return kubelet.slots() == 32; }));
  const auto ran = bind("ran", "GPU-a");
  ASSERT_EQ(kubelet.admit(ran), "");
  ASSERT_EQ(kubelet.start_container(ran), "");
  agent.reset();
  ASSERT_TRUE(replace_file(grant_keys, "nonsense"));
  start();
  ASSERT_TRUE(eventually([&] { return kubelet.slots() == 32; }));
  EXPECT_EQ(kubelet.start_container(ran), "");
  const auto fresh = bind("fresh", "GPU-a");
  ASSERT_EQ(kubelet.admit(fresh), "");
  EXPECT_NE(kubelet.start_container(fresh).find("(none is known)"), std::string::npos);
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
