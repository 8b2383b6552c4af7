#include "node/agent.hpp"

#include "base/base64.hpp"
#include "base/ed25519.hpp"
#include "base/file.hpp"
#include "base/json.hpp"
#include "http/client.hpp"
#include "kube/client.hpp"
#include "kube/local/api.hpp"
#include "model/cards.hpp"
#include "model/grant_reading.hpp"
#include "node/cards/file_source.hpp"
#include "node/publish/node_record.hpp"
#include "node/publish/own_node.hpp"
#include "node/vendor/amd/amd.hpp"
#include "node/vendor/nvidia/nvidia.hpp"
#include "node/vendor/nvidia/stand_in/library_limiter.hpp"
#include "shim/page_files.hpp"
#include "tests/node/kubelet/fake_kubelet.hpp"
#include "tests/node/kubelet/fake_runtime.hpp"
#include "tests/node/vendor/amd/fake_machine.hpp"
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

/// A card of a file, on which a library limits memory.
class LibraryCards final : public CardSource {
 public:
  explicit LibraryCards(const std::string& file) : file_(file) {}
  Result<Inventory> inventory() override {
    auto inventory = file_.inventory();
    if (!inventory) return inventory;
    for (InstalledCard& card : inventory->cards) {
      card.memory_means.add(model::MemoryLimits::kLibrary);
    }
    return inventory;
  }
  Result<std::vector<Fault>> wait_for_faults(std::chrono::milliseconds limit) override {
    return file_.wait_for_faults(limit);
  }
  Result<CardActivity> activity(std::string_view card) override { return file_.activity(card); }
  Result<void> set_exclusive_process(std::string_view card, bool exclusive) override {
    return file_.set_exclusive_process(card, exclusive);
  }

 private:
  FileSource file_;
};

/// Cards of a file whose memory NVIDIA's stand-in libraries limit.
class LibraryVendor final : public Vendor {
 public:
  explicit LibraryVendor(std::string folder)
      : Vendor(nvidia::Nvidia().facts()), folder_(std::move(folder)) {}
  void add_options(CLI::App& /*cli*/) override {}
  [[nodiscard]] std::unique_ptr<CardSource> open_cards() const override {
    return std::make_unique<LibraryCards>(folder_ + "/cards.yaml");
  }
  [[nodiscard]] Result<std::optional<CardLabels>> card_labels() const override {
    return std::optional(CardLabels{.of_vendors_program = "nvidia.com/gfd.timestamp",
                                    .covers = [](std::string_view name) { return name == "cards"; },
                                    .of =
                                        [](const Inventory& inventory, std::string_view) {
                                          const auto count = std::to_string(inventory.cards.size());
                                          return NodeLabels{{"cards", count}};
                                        }});
  }
  [[nodiscard]] std::unique_ptr<Enforcer> enforcer(model::Isolation /*mode*/,
                                                   const EnforcerParts& /*of*/) const override {
    return nullptr;
  }
  [[nodiscard]] Result<std::unique_ptr<MemoryLimiter>> memory_limiter(
      model::MemoryLimits means, const std::string& /*state_dir*/) const override {
    if (means != model::MemoryLimits::kLibrary) return std::unique_ptr<MemoryLimiter>();
    return std::make_unique<nvidia::LibraryLimiter>(
        nvidia::StandInPaths{.cuda = "/stand-in/cuda", .nvml = "/stand-in/nvml"}, "/stand-in",
        shares());
  }
  [[nodiscard]] Result<CdiEdits> cdi_edits(
      const std::vector<std::string>& /*cards*/) const override {
    CdiEdits edits;
    edits.lists["mounts"] = {
        R"({"hostPath":"/a/libcuda.so.615","containerPath":"/a/libcuda.so.615"})",
        R"({"hostPath":"/a/libnvidia-ml.so.615","containerPath":"/a/libnvidia-ml.so.615"})"};
    return edits;
  }
  [[nodiscard]] std::string shares() const { return folder_ + "/run/shares"; }

 private:
  const std::string folder_;
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
    if (!vendor) settings.card_file = folder.path() + "/cards.yaml";
    settings.vendor = vendor ? vendor
                             : std::make_shared<nvidia::Nvidia>(nvidia::Settings{
                                   .cdi_dirs = {}, .run_dir = folder.path() + "/run"});
    settings.kubelet_dir = folder.path();
    settings.plugin_dir = kubelet.plugin_folder();
    settings.cdi_dir = folder.path() + "/cdi";
    settings.state_dir = folder.path() + "/state";
    settings.runtime_socket = runtime.socket();
    settings.metrics.listen = {"127.0.0.1", 0};
    settings.gpu_labels = gpu_labels;
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
                                  .compute_limit = MilliGpu(500),
                                  .whole = false};
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

  std::shared_ptr<Vendor> vendor;  ///< null = NVIDIA's, with cards of a file
  bool gpu_labels = false;
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
