#pragma once

#include "base/base64.hpp"
#include "base/ed25519.hpp"
#include "base/file.hpp"
#include "base/json.hpp"
#include "http/client.hpp"
#include "kube/client.hpp"
#include "kube/local/api.hpp"
#include "model/cards.hpp"
#include "model/grant_reading.hpp"
#include "node/agent.hpp"
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
#include <condition_variable>
#include <memory>
#include <mutex>
#include <random>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

namespace tangram::node {

using testing::eventually;

/// An API server to which a DRA driver may have published cards, and which may be slow to list
/// pods.
class AgentApi final : public testing::PassingApi {
 public:
  using PassingApi::PassingApi;
  Result<kube::Response> call(const kube::Request& request) override {
    wait(request);
    if (slices.empty() || request.path != "/apis/resource.k8s.io/v1/resourceslices") {
      return PassingApi::call(request);
    }
    return kube::Response{.status = 200, .body = slices, .retry_after = {}};
  }
  Result<kube::Response> watch(const kube::Request& request, const kube::WatchFrame& frame,
                               std::stop_token stop) override {
    wait(request);
    return PassingApi::watch(request, frame, std::move(stop));
  }

  /// @param hold  requests for pods wait from now on; false = they are answered
  void hold_pods(bool hold) {
    const std::lock_guard lock(mutex_);
    hold_ = hold;
    changed_.notify_all();
  }
  [[nodiscard]] bool holds() const {
    const std::lock_guard lock(mutex_);
    return waiting_ > 0;
  }

  std::string slices;  ///< a list; "" = it has no such objects

 private:
  void wait(const kube::Request& request) {
    if (request.path != "/api/v1/pods") return;
    std::unique_lock lock(mutex_);
    ++waiting_;
    changed_.wait(lock, [this] { return !hold_; });
    --waiting_;
  }

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool hold_ = false;
  int waiting_ = 0;
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

/// Cards of a file, in no mode and without limits.
class FileVendor : public Vendor {
 public:
  explicit FileVendor(std::string folder)
      : Vendor(nvidia::Nvidia().facts()), folder_(std::move(folder)) {}
  void add_options(CLI::App& /*cli*/) override {}
  [[nodiscard]] std::unique_ptr<CardSource> open_cards() const override {
    return std::make_unique<FileSource>(folder_ + "/cards.yaml");
  }
  [[nodiscard]] std::unique_ptr<Enforcer> enforcer(model::Isolation /*mode*/,
                                                   const EnforcerParts& /*of*/) const override {
    return nullptr;
  }
  [[nodiscard]] Result<std::unique_ptr<MemoryLimiter>> memory_limiter(
      model::MemoryLimits /*means*/, const std::string& /*state_dir*/) const override {
    return std::unique_ptr<MemoryLimiter>();
  }
  [[nodiscard]] Result<CdiEdits> cdi_edits(
      const std::vector<std::string>& /*cards*/) const override {
    return CdiEdits();
  }

 protected:
  const std::string folder_;
};

/// Cards of a file whose memory NVIDIA's stand-in libraries limit.
class LibraryVendor final : public FileVendor {
 public:
  using FileVendor::FileVendor;
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
                             .isolation = isolation,
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
  model::Isolation isolation = model::Isolation::kNone;  ///< of bind()
  std::string grant_keys;  ///< a file; "" = signatures are not looked at
  model::Signer signer;    ///< of bind()
  testing::TempFolder folder;
  SystemClock clock;
  kube::LocalApi api{clock};
  AgentApi server{api};
  testing::FakeKubelet kubelet{folder.path(), 1};
  testing::FakeRuntime runtime{folder.path() + "/runtime.sock"};
  std::mt19937_64 engine{1};
  std::unique_ptr<Agent> agent;
};

}  // namespace tangram::node
