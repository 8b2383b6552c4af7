#pragma once

#include "base/base64.hpp"
#include "base/ed25519.hpp"
#include "base/json.hpp"
#include "cli/cluster.hpp"
#include "cli/cluster_settings.hpp"
#include "cli/screen.hpp"
#include "kube/local/api.hpp"
#include "model/annotations.hpp"
#include "model/cards.hpp"
#include "model/grant.hpp"
#include "model/grant_reading.hpp"
#include "tests/testing/builders.hpp"
#include "tests/testing/kube_builders.hpp"
#include "tests/testing/manual_clock.hpp"
#include "tests/testing/passing_api.hpp"

#include <spdlog/spdlog.h>

#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace tangram::cli {

/// An API server in memory, with scripted responses for paths that it does not serve.
/// Threads: safe.
class ScriptedApi final : public testing::PassingApi {
 public:
  using PassingApi::PassingApi;

  void answer(const std::string& path, int status, std::string body) {
    const std::scoped_lock lock(mutex_);
    answers_[path] = kube::Response{.status = status, .body = std::move(body), .retry_after = {}};
  }
  void answer(const std::string& path, std::string body) { answer(path, 200, std::move(body)); }
  [[nodiscard]] std::vector<kube::Request> calls() const {
    const std::scoped_lock lock(mutex_);
    return calls_;
  }

  Result<kube::Response> call(const kube::Request& request) override {
    const std::scoped_lock lock(mutex_);
    calls_.push_back(request);
    const auto known = answers_.find(request.path);
    if (known != answers_.end()) return known->second;
    return PassingApi::call(request);
  }

 private:
  std::map<std::string, kube::Response> answers_;
  mutable std::mutex mutex_;
  std::vector<kube::Request> calls_;
};

/// A small cluster that a test fills, and that is read as the program reads it.
struct Rig {
  Rig() { spdlog::default_logger()->set_level(spdlog::level::off); }

  testing::ManualClock clock;
  kube::LocalApi server{clock};
  ScriptedApi api{server};
  model::Signer signer;  ///< of the grants of bind(); empty = they are not signed

  kube::Response ask(const kube::Request& request) {
    auto response = server.call(request);
    if (!response || response->status >= 400) {
      throw std::runtime_error(request.path + ": " +
                               (response ? response->body : response.error().message));
    }
    return std::move(*response);
  }

  /// A node with 8 cores, 32 GiB and 16 slots for each card.
  /// @param annotations  further ones: ", tangram.dev/cordon: all"
  /// @param capacity     other than its slots: "nvidia.com/gpu: \"1\""
  void add_node(const std::string& name, const std::vector<model::Card>& cards,
                const std::string& annotations = "", const std::string& spec = "{}",
                const std::string& capacity = "") {
    const std::string slots = "tangram.dev/gpu-slot: \"" + std::to_string(16 * cards.size()) + "\"";
    const std::string allocatable =
        "{cpu: \"8\", memory: 32Gi, pods: \"110\", " + (capacity.empty() ? slots : capacity) + "}";
    const auto loaded = server.load_yaml(
        "apiVersion: v1\nkind: Node\nmetadata: {name: " + name +
        ", labels: {tangram.dev/gpu: " + "\"true\"}, annotations: {tangram.dev/cards: '" +
        model::encode_cards(cards) + "'" + annotations + "}}\nspec: " + spec +
        "\nstatus: {capacity: " + allocatable + ", allocatable: " + allocatable + "}\n");
    if (!loaded) throw std::runtime_error(loaded.error().message);
  }

  /// Replaces the node's cards, as an agent would, with any texts in them.
  void publish(const std::string& node, const std::vector<model::Card>& cards) {
    std::string patch;
    json::Writer(patch)
        .begin_object()
        .key("metadata")
        .begin_object()
        .key("annotations")
        .begin_object()
        .member(model::kCardsAnnotation, model::encode_cards(cards))
        .end_object()
        .end_object()
        .end_object();
    ask(testing::write_request(kube::Method::kPatch, "/api/v1/nodes/" + node, patch));
  }

  /// A pod in namespace ml with these annotations and a slot. @returns its UID
  std::string add_pod(const std::string& name,
                      const std::map<std::string, std::string>& annotations,
                      const std::string& scheduler = "tangram") {
    testing::PodText pod;
    pod.name = name;
    pod.scheduler = scheduler;
    for (const auto& [key, value] : annotations) pod.annotations["tangram.dev/" + key] = value;
    pod.limits = {{"tangram.dev/gpu-slot", "1"}};
    return add_pod(pod);
  }
  std::string add_pod(const testing::PodText& pod) {
    const auto made = ask(testing::write_request(kube::Method::kPost, "/api/v1/namespaces/ml/pods",
                                                 testing::pod_json(pod)));
    return testing::json_at(made.body, "metadata.uid");
  }

  void sign_with(const SigningKey& key) {
    signer = [key](std::string_view text) { return base64_encode(key.sign(text)); };
  }

  /// As after an attempt of kube-scheduler that found no node.
  void refuse(const std::string& pod) {
    ask(testing::write_request(
        kube::Method::kPatch, "/api/v1/namespaces/ml/pods/" + pod + "/status",
        R"({"status":{"conditions":[{"type":"PodScheduled","status":"False"}]}})"));
  }
  /// A pending pod that kube-scheduler has tried.
  void add_refused(const std::string& name, const std::map<std::string, std::string>& annotations) {
    add_pod(name, annotations);
    refuse(name);
  }

  /// Binds it as the extender does, with a grant of these cards to its container.
  void bind(const std::string& name, const std::string& uid, const std::string& node,
            std::vector<model::GrantedCard> cards) {
    const model::Grant grant{.pod_uid = uid,
                             .node = node,
                             .issued_at = "2026-01-01T00:00:00Z",
                             .isolation = model::Isolation::kMps,
                             .containers = {{"main", std::move(cards)}},
                             .signature = ""};
    const std::string text = model::encode_signed(grant, signer);
    ask(testing::write_request(
        kube::Method::kPost, "/api/v1/namespaces/ml/pods/" + name + "/binding",
        testing::binding_json(name, uid, node, {{"tangram.dev/gpu-grant", text}})));
  }
  void add_bound(const std::string& name, const std::string& fraction, const std::string& node,
                 std::vector<model::GrantedCard> cards) {
    bind(name, add_pod(name, {{"gpu-fraction", fraction}}), node, std::move(cards));
  }

  /// Node "a" with two A100, the first one half granted; "b" with a T4; and a pending pod.
  void fill() {
    add_node("a", {testing::card("GPU-a0"), testing::card("GPU-a1")});
    add_node("b", {testing::card("GPU-b0", "T4", Mebibytes(15'360))});
    add_bound("half", "0.5", "a", {testing::granted("GPU-a0", 40'960, 500)});
    add_pod("large", {{"gpu-mem", "100Gi"}});
  }

  /// The extender's ConfigMap, and the one with the public keys of grants.
  void install(const std::string& config) {
    install("tangram-extender", kConfigKey, "kube: {source: in-cluster}\n" + config);
  }
  void install_key(const SigningKey& key) {
    install("tangram-grant-keys", "id.pub", key.verifying_key().to_pem());
  }
  void install(const std::string& name, const std::string& key, const std::string& value) {
    std::string text;
    json::Writer(text)
        .begin_object()
        .key("data")
        .begin_object()
        .member(key, value)
        .end_object()
        .end_object();
    api.answer("/api/v1/namespaces/tangram-system/configmaps/" + name, text);
  }
  /// As the extender that is installed reads it.
  [[nodiscard]] std::unique_ptr<Cluster> configured() {
    const auto settings = read_cluster_settings(api, kSystemNamespace);
    auto read = Cluster::read(api, settings, clock);
    if (!read) throw std::runtime_error(read.error().message);
    return std::move(*read);
  }

  [[nodiscard]] std::unique_ptr<Cluster> cluster() {
    ClusterSettings settings;
    settings.policy.default_policy = "binpack";
    auto read = Cluster::read(api, settings, clock);
    if (!read) throw std::runtime_error(read.error().message);
    return std::move(*read);
  }
};

/// A file: nothing is coloured, nothing is cut.
inline Screen file_screen(int width = 80) { return {{.colour = false, .width = width}, false}; }
/// A terminal without colours.
inline Screen terminal(int width) {
  return {{.colour = false, .width = width}, true, static_cast<std::size_t>(width)};
}

}  // namespace tangram::cli
