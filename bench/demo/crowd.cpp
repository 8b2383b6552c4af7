#include "bench/demo/crowd.hpp"

#include "bench/demo/cluster_calls.hpp"
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

/// As often as they stand here.
constexpr std::array<std::string_view, 14> kNamespaces{
    "notebooks", "notebooks", "notebooks", "notebooks", "training", "training", "training",
    "inference", "inference", "research",  "research",  "vision",   "speech",   "nightly"};
constexpr std::array<std::int64_t, 8> kMilli{100, 125, 200, 250, 250, 333, 500, 1'000};
constexpr std::array<std::string_view, 5> kRoles{"lab", "train", "eval", "serve", "tune"};

constexpr std::size_t kWaitingPods = 12;
constexpr std::chrono::milliseconds kBindTime{5'000};

std::string node_name(std::size_t number) { return fmt::format("gpu-node-{:05}", number); }

}  // namespace

Crowd::Crowd(kube::KubeApi& api, std::size_t nodes, std::uint64_t seed)
    : api_(api), nodes_(nodes), random_(seed) {}

Result<void> Crowd::fill() {
  for (std::size_t i = 0; i < nodes_; ++i) {
    if (auto added = add_node(i); !added) return added.error();
  }
  for (Place& place : cards_) {
    if (auto filled = fill_card(place); !filled) return filled.error();
  }
  return add_waiting_pods();
}

Result<void> Crowd::add_node(std::size_t number) {
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
    if (random == 1) card.unavailable_reason = "withheld by an operator";
    cards_.push_back({.node = number,
                      .uuid = card.id,
                      .free_memory = card.memory,
                      .free_compute = card.compute,
                      .open = card.available(),
                      .guests = {}});
    node.cards.push_back(std::move(card));
  }
  const auto made = call(api_, create_request("/api/v1/nodes", node_json(node)), 201);
  if (!made) return made.error();
  return {};
}

Result<void> Crowd::fill_card(Place& place) {
  if (!place.open || below(9) == 0) return {};
  while (below(7) != 0) {
    const MilliGpu compute(kMilli.at(below(kMilli.size())));
    // Some want more memory than their part of the compute, some less.
    const auto whole =
        place.free_memory.count() * 1'000 / std::max<std::int64_t>(1, place.free_compute.count());
    const auto part = whole * compute.count() / 1'000;
    const Mebibytes memory(part - part * static_cast<std::int64_t>(below(3)) / 6);
    if (memory < Mebibytes(64)) break;
    if (compute > place.free_compute || memory > place.free_memory) continue;
    auto admitted = admit(place, kNamespaces.at(below(kNamespaces.size())), memory, compute);
    if (!admitted) return admitted.error();
    if (place.free_compute < MilliGpu(100)) break;
  }
  return {};
}

Result<void> Crowd::admit(Place& place, std::string_view ns, Mebibytes memory, MilliGpu compute) {
  const std::string_view role = kRoles.at(below(kRoles.size()));
  Guest guest{.ns = ns,
              .name = fmt::format("{}-{}", role, ++named_),
              .share = {.uuid = place.uuid,
                        .memory = memory,
                        .compute = compute,
                        .memory_limit = memory,
                        .compute_limit = compute}};
  PodSpec spec{.ns = std::string(ns),
               .name = guest.name,
               .annotations = {{"tangram.dev/gpu-mem", fmt::format("{}Mi", memory.count())}},
               .cpu = MilliCpu(1'000),
               .memory = Mebibytes(4'096),
               .slot = true,
               .node = {}};
  auto made = create_pod(api_, spec.ns, pod_json(spec));
  if (!made) return made.error();
  auto pod = kube::decode_pod(std::move(*made));
  if (!pod) return pod.error();
  const std::string node = node_name(place.node);
  const model::Grant grant{.pod_uid = pod->uid,
                           .node = node,
                           .issued_at = "2026-01-01T00:00:00Z",
                           .isolation = model::Isolation::kMps,
                           .containers = {{.container = "main", .cards = {guest.share}}},
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
  place.free_memory = place.free_memory - memory;
  place.free_compute = place.free_compute - compute;
  place.guests.push_back(std::move(guest));
  ++pods_;
  return {};
}

Result<void> Crowd::end_one(Place& place) {
  const auto at = place.guests.begin() + static_cast<std::ptrdiff_t>(below(place.guests.size()));
  const Guest guest = std::move(*at);
  place.guests.erase(at);
  place.free_memory += guest.share.memory;
  place.free_compute += guest.share.compute;
  --pods_;
  return delete_pod(api_, std::string(guest.ns), guest.name);
}

Result<void> Crowd::change(std::size_t cards) {
  for (std::size_t i = 0; i < cards; ++i) {
    Place& place = cards_.at(below(cards_.size()));
    if (!place.guests.empty()) {
      if (auto ended = end_one(place); !ended) return ended.error();
    }
    if (auto filled = fill_card(place); !filled) return filled.error();
  }
  return {};
}

Result<void> Crowd::add_waiting_pods() {
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
