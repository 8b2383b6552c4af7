#include "bench/demo/busy_cluster.hpp"

#include "bench/cluster_calls.hpp"
#include "kube/client.hpp"
#include "kube/objects.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <utility>

namespace tangram::bench::demo {

namespace {

struct Model {
  std::string_view name;
  std::int64_t mib = 0;
};
constexpr std::array<Model, 6> kModels{{{"H100-SXM5-80GB", 81'920},
                                        {"A100-SXM4-80GB", 81'920},
                                        {"A100-SXM4-80GB", 81'920},
                                        {"A100-SXM4-40GB", 40'960},
                                        {"L40S", 46'068},
                                        {"T4", 15'360}}};

/// Repeated by how often they occur.
constexpr std::array<std::string_view, 14> kNamespaces{
    "notebooks", "notebooks", "notebooks", "notebooks", "training", "training", "training",
    "inference", "inference", "research",  "research",  "vision",   "speech",   "nightly"};
constexpr std::array<std::int64_t, 8> kMilli{100, 125, 200, 250, 250, 333, 500, 1'000};
constexpr std::array<std::string_view, 5> kRoles{"lab", "train", "eval", "serve", "tune"};

constexpr std::size_t kWaitingPods = 12;
constexpr std::chrono::milliseconds kBindTime{5'000};

std::string node_name(std::size_t number) { return fmt::format("gpu-node-{:05}", number); }

}  // namespace

BusyCluster::BusyCluster(kube::KubeApi& api, std::size_t nodes, std::uint64_t seed)
    : api_(api), nodes_(nodes), random_(seed) {}

Result<void> BusyCluster::fill() {
  for (std::size_t i = 0; i < nodes_; ++i) {
    if (auto added = add_node(i); !added) return added.error();
  }
  for (CardInUse& card : cards_) {
    if (auto filled = fill_card(card); !filled) return filled.error();
  }
  return add_waiting_pods();
}

Result<void> BusyCluster::add_node(std::size_t number) {
  const Model& kind = kModels.at(below(kModels.size()));
  model::NodeInventory node{.name = node_name(number),
                            .cards = {},
                            .cpu = MilliCpu(128'000),
                            .memory = Mebibytes(1'048'576)};
  for (std::size_t i = 0; i < kCardsPerNode; ++i) {
    model::Card card;
    card.id = fmt::format("GPU-{:05}-{}", number, i);
    card.model = kind.name;
    card.memory = Mebibytes(kind.mib);
    const std::size_t random = below(250);
    card.healthy = random != 0;
    card.cordoned = random == 1;
    if (random == 0) card.unavailable_reason = "XID 79: GPU has fallen off the bus";
    if (random == 1) card.unavailable_reason = "reserved for maintenance";
    cards_.push_back({.node = number,
                      .uuid = card.id,
                      .free_memory = card.memory,
                      .free_compute = card.compute,
                      .open = card.available(),
                      .pods = {}});
    node.cards.push_back(std::move(card));
  }
  return create_node(api_, node);
}

Result<void> BusyCluster::fill_card(CardInUse& card) {
  if (!card.open || below(9) == 0) return {};
  while (below(7) != 0) {
    const MilliGpu compute(kMilli.at(below(kMilli.size())));
    // Some request more memory than their share of the compute, some less.
    const auto whole =
        card.free_memory.count() * 1'000 / std::max<std::int64_t>(1, card.free_compute.count());
    const auto part = whole * compute.count() / 1'000;
    const Mebibytes memory(part - part * static_cast<std::int64_t>(below(3)) / 6);
    if (memory < Mebibytes(64)) break;
    if (compute > card.free_compute || memory > card.free_memory) continue;
    auto admitted = admit(card, kNamespaces.at(below(kNamespaces.size())), memory, compute);
    if (!admitted) return admitted.error();
    if (card.free_compute < MilliGpu(100)) break;
  }
  return {};
}

Result<void> BusyCluster::create_bound(const PodSpec& spec, const std::string& node,
                                       const model::GrantedCard& share) {
  auto made = create_pod(api_, spec.ns, pod_json(spec));
  if (!made) return made.error();
  auto pod = kube::decode_pod(std::move(*made));
  if (!pod) return pod.error();
  const model::Grant grant{.pod_uid = pod->uid,
                           .node = node,
                           .issued_at = "2026-01-01T00:00:00Z",
                           .isolation = model::Isolation::kMps,
                           .containers = {{.container = "main", .cards = {share}}},
                           .signature = {}};
  auto bound =
      kube::bind_pod(api_,
                     {.ns = spec.ns,
                      .name = spec.name,
                      .uid = pod->uid,
                      .node = node,
                      .annotations = {{std::string(model::kGrantAnnotation), encode(grant)}}},
                     kBindTime);
  if (!bound) return bound.error();
  return {};
}

Result<void> BusyCluster::admit(CardInUse& card, std::string_view ns, Mebibytes memory,
                                MilliGpu compute) {
  const std::string_view role = kRoles.at(below(kRoles.size()));
  RunningPod running{.ns = ns,
                     .name = fmt::format("{}-{}", role, ++named_),
                     .share = {.uuid = card.uuid,
                               .memory = memory,
                               .compute = compute,
                               .memory_limit = memory,
                               .compute_limit = compute}};
  PodSpec spec{.ns = std::string(ns),
               .name = running.name,
               .annotations = {{"tangram.dev/gpu-mem", fmt::format("{}Mi", memory.count())}},
               .cpu = MilliCpu(1'000),
               .memory = Mebibytes(4'096),
               .slot = true,
               .node = {}};
  if (auto bound = create_bound(spec, node_name(card.node), running.share); !bound) return bound;
  card.free_memory = card.free_memory - memory;
  card.free_compute = card.free_compute - compute;
  card.pods.push_back(std::move(running));
  ++pods_;
  return {};
}

Result<void> BusyCluster::end_one(CardInUse& card) {
  const auto at = card.pods.begin() + static_cast<std::ptrdiff_t>(below(card.pods.size()));
  const RunningPod running = std::move(*at);
  card.pods.erase(at);
  card.free_memory += running.share.memory;
  card.free_compute += running.share.compute;
  --pods_;
  return delete_pod(api_, std::string(running.ns), running.name);
}

Result<void> BusyCluster::change(std::size_t cards) {
  for (std::size_t i = 0; i < cards; ++i) {
    CardInUse& card = cards_.at(below(cards_.size()));
    if (!card.pods.empty()) {
      if (auto ended = end_one(card); !ended) return ended.error();
    }
    if (auto filled = fill_card(card); !filled) return filled.error();
  }
  return {};
}

Result<void> BusyCluster::add_waiting_pods() {
  static const std::map<std::string, std::string> kWhole{{"tangram.dev/gpu-count", "8"}};
  static const std::map<std::string, std::string> kBig{{"tangram.dev/gpu-mem", "70Gi"},
                                                       {"tangram.dev/gpu-model", "L40S,T4"}};
  for (std::size_t i = 0; i < kWaitingPods; ++i) {
    PodSpec spec{.ns = std::string(kNamespaces.at(below(kNamespaces.size()))),
                 .name = fmt::format("waiting-{}", i + 1),
                 .annotations = i % 2 == 0 ? kWhole : kBig,
                 .cpu = MilliCpu(8'000),
                 .memory = Mebibytes(65'536),
                 .slot = true,
                 .node = {}};
    if (auto made = create_pod(api_, spec.ns, pod_json(spec)); !made) return made.error();
  }
  return {};
}

}  // namespace tangram::bench::demo
