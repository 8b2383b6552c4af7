#pragma once

#include "cluster/cluster_feed.hpp"
#include "cluster/pod_groups.hpp"
#include "extender/scheduling/binder.hpp"
#include "extender/scheduling/denials.hpp"
#include "extender/scheduling/group_reservations.hpp"
#include "extender/scheduling/move_places.hpp"
#include "kube/local/api.hpp"
#include "model/cards.hpp"
#include "tests/testing/builders.hpp"
#include "tests/testing/fault_api.hpp"
#include "tests/testing/kube_builders.hpp"
#include "tests/testing/ledger_picture.hpp"
#include "tests/testing/manual_clock.hpp"
#include "tests/testing/pod_recorder.hpp"
#include "tests/testing/send_list.hpp"

#include <stdexcept>
#include <string>
#include <vector>

namespace tangram::extender {

/// The parts behind the verbs, put together by hand: an API server in memory, a faulty network
/// before it, and no watch but sync() and show(), so that a test decides what the ledger has seen.
struct Rig {
  Rig() = default;
  explicit Rig(cluster::PolicySettings settings) : policies(std::move(settings)) {}

  testing::ManualClock clock;
  kube::LocalApi server{clock};
  testing::FaultApi api{server};
  cluster::SharedLedger ledger{clock};
  Offers offers{clock, 100, std::chrono::seconds(60)};
  Promises promises{clock};
  Denials denials{clock};
  GroupAttempts group_attempts{clock};
  cluster::PodGroups pod_groups{
      [this](const std::string& key) { group_reservations.attempt_failed(key); }};
  cluster::PolicySource policies{binpack()};
  testing::PodRecorder recorder;
  cluster::PodTable table{{&recorder}};
  GroupReservations group_reservations{
      {.attempts = group_attempts,
       .ledger = ledger,
       .pods = table,
       .groups = pod_groups,
       .denials = denials},
      {.hold = std::chrono::milliseconds(3'000), .long_hold = std::chrono::milliseconds(120'000)}};
  MovePlaces move_places{ledger, clock, std::chrono::milliseconds(10'000)};
  bool may_write = true;
  cluster::FeedCounters counters;
  cluster::NodeFeed nodes{ledger, counters};
  cluster::PodFeed pods{ledger, table, policies, counters, {}};
  static constexpr std::chrono::milliseconds kBindTimeout{4'000};
  Binder binder = binder_at(api);

  /// A binder whose requests go that way.
  Binder binder_at(kube::KubeApi& way) {
    return Binder({.api = way,
                   .ledger = ledger,
                   .pods = table,
                   .offers = offers,
                   .promises = promises,
                   .policies = policies,
                   .clock = clock,
                   .may_write = [this](std::chrono::milliseconds) { return may_write; },
                   .sign = model::Signer(),
                   .check = model::SignatureCheck()},
                  {.api_timeout = kBindTimeout, .assume_ttl = std::chrono::milliseconds(70'000)});
  }

  static cluster::PolicySettings binpack() {
    cluster::PolicySettings settings;
    settings.default_policy = "binpack";
    settings.learn_workload = false;
    return settings;
  }

  kube::Response ask(const kube::Request& request) {
    auto response = server.call(request);
    if (!response || response->status >= 400) {
      throw std::runtime_error(request.path + ": " +
                               (response ? response->body : response.error().message));
    }
    return std::move(*response);
  }

  /// A Node with that many A100s, "NAME-0", "NAME-1", ...
  static std::string node_text(const std::string& name, int cards) {
    std::vector<model::Card> all;
    all.reserve(static_cast<std::size_t>(cards));
    for (int i = 0; i < cards; ++i) {
      all.push_back(testing::card(std::string(name).append("-").append(std::to_string(i))));
    }
    return testing::node_json(name, {{"tangram.dev/cards", model::encode_cards(all)}});
  }
  void add_node(const std::string& name, int cards = 1) {
    ask(testing::write_request(kube::Method::kPost, "/api/v1/nodes", node_text(name, cards)));
  }

  /// Makes a pod in namespace ml that asks this. @returns its UID
  std::string add_pod(const std::string& name,
                      const std::map<std::string, std::string>& annotations) {
    testing::PodText pod;
    pod.name = name;
    pod.annotations = annotations;
    return add_pod(pod);
  }
  std::string add_pod(const testing::PodText& pod) {
    const auto made = ask(testing::write_request(kube::Method::kPost, "/api/v1/namespaces/ml/pods",
                                                 testing::pod_json(pod)));
    return testing::json_at(made.body, "metadata.uid");
  }
  std::string add_half(const std::string& name) {
    return add_pod(name, {{"tangram.dev/gpu-fraction", "0.5"}});
  }

  [[nodiscard]] std::string read(const std::string& pod) {
    return ask(testing::get_request("/api/v1/namespaces/ml/pods/" + pod)).body;
  }
  [[nodiscard]] std::string node_of(const std::string& pod) {
    return testing::json_at(read(pod), "spec.nodeName");
  }
  /// The pod's grant, decoded.
  [[nodiscard]] Result<model::Grant> grant_of(const std::string& pod) {
    const auto decoded = kube::decode_pod(read(pod));
    if (!decoded) return decoded.error();
    const auto annotation = decoded->annotations.find("gpu-grant");
    if (annotation == decoded->annotations.end()) return fail(Errc::kNotFound, "no grant");
    return model::decode_grant(annotation->second);
  }
  /// As kube-scheduler does for a pod that preempts others; empty = no more.
  void nominate(const std::string& pod, const std::string& node) {
    ask(testing::write_request(kube::Method::kPatch,
                               "/api/v1/namespaces/ml/pods/" + pod + "/status",
                               R"({"status":{"nominatedNodeName":")" + node + R"("}})"));
    show(pod);
  }
  /// Ends the pod at once, as kubelet does when its containers are gone.
  void remove_pod(const std::string& pod) {
    auto request =
        testing::write_request(kube::Method::kDelete, "/api/v1/namespaces/ml/pods/" + pod, "");
    request.query["gracePeriodSeconds"] = "0";
    ask(request);
  }

  /// Removes the pod, and the watch shows that.
  void end_pod(const std::string& pod) {
    const std::string last = read(pod);
    remove_pod(pod);
    pods.change(kube::EventType::kDeleted, last);
  }

  /// What a list of both kinds shows goes into the ledger.
  void sync() {
    testing::send_list(nodes, list("/api/v1/nodes"));
    testing::send_list(pods, list("/api/v1/pods"));
  }
  /// The watch shows the pod as it is now.
  void show(const std::string& pod) { pods.change(kube::EventType::kModified, read(pod)); }

  std::vector<std::string> list(const std::string& path) {
    return testing::items_of(ask(testing::get_request(path)).body);
  }

  [[nodiscard]] std::string picture() const { return testing::picture_of(*ledger.snapshot()); }
  [[nodiscard]] model::Ledger::Entry entry(const std::string& uid) {
    return ledger.apply([&](const model::Ledger& now) {
      const auto* found = now.find(uid);
      return found == nullptr ? model::Ledger::Entry{} : *found;
    });
  }
  [[nodiscard]] MilliGpu used(const std::string& node, std::size_t card = 0) const {
    return ledger.snapshot()->find(node)->use.at(card).compute;
  }
  /// The deadline of a bind that is asked for now.
  [[nodiscard]] TimePoint in_time() const { return clock.now() + kBindTimeout; }
  Binder::BindResult bind(const std::string& pod, const std::string& uid, const std::string& node) {
    return binder.bind({.ns = "ml", .name = pod, .uid = uid, .node = node}, in_time());
  }
};

}  // namespace tangram::extender
