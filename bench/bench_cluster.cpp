#include "bench/bench_cluster.hpp"

#include "bench/objects.hpp"
#include "kube/client.hpp"
#include "model/grant.hpp"

#include <array>
#include <cstdio>

namespace tangram::bench {

namespace {

constexpr const char* kNamespace = "bench";
constexpr std::int64_t kCardMemory = 81'920;
constexpr std::int64_t kRunningMilli = 200;
constexpr std::chrono::milliseconds kTimeout{10'000};

std::string node_name(int index) {
  std::array<char, 24> text{};
  std::snprintf(text.data(), text.size(), "gpu-node-%05d", index);
  return text.data();
}

std::string card_id(int node, int card) {
  return "GPU-" + std::to_string(node) + "-" + std::to_string(card);
}

model::NodeInventory inventory(int index, int cards) {
  model::NodeInventory node{
      .name = node_name(index), .cards = {}, .cpu = MilliCpu(96'000), .memory = Mebibytes(786'432)};
  for (int i = 0; i < cards; ++i) {
    model::Card card;
    card.id = card_id(index, i);
    card.model = index % 3 == 0 ? "H100-SXM5-80GB" : "A100-SXM4-80GB";
    card.memory = Mebibytes(kCardMemory);
    node.cards.push_back(std::move(card));
  }
  return node;
}

std::map<std::string, std::string> pending_request(int number) {
  switch (number % 5) {
    case 0:
      return {{"tangram.dev/gpu-fraction", "0.5"}};
    case 1:
      return {{"tangram.dev/gpu-mem", "8Gi"}};
    case 2:
      return {{"tangram.dev/gpu-fraction", "0.25"}, {"tangram.dev/gpu-model", "H100*"}};
    case 3:
      return {{"tangram.dev/gpu-mem", "16Gi"}, {"tangram.dev/gpu-compute", "0.3"}};
    default:
      return {{"tangram.dev/gpu-fraction", "0.1"}, {"tangram.dev/gpu-count", "2"}};
  }
}

/// All in the mode of the running pods, which allows shares of several cards, as mps does not.
std::map<std::string, std::string> pending_annotations(int number) {
  auto annotations = pending_request(number);
  annotations["tangram.dev/gpu-isolation"] = to_string(model::Isolation::kTimeSlice);
  return annotations;
}

}  // namespace

BenchCluster::BenchCluster(const Clock& clock, ClusterSize size)
    : size_(size), api_(clock, {.history = static_cast<std::size_t>(size.pods) * 4 + 1'000'000}) {}

Result<std::unique_ptr<BenchCluster>> BenchCluster::create(const Clock& clock, ClusterSize size) {
  const std::int64_t cards = std::int64_t{size.nodes} * size.cards_per_node;
  if (size.pods * kRunningMilli > cards * kWholeGpu.count()) {
    return fail(Errc::kInvalidArgument, "so many pods do not fit the cards; write at most " +
                                            std::to_string(cards * 1000 / kRunningMilli));
  }
  std::unique_ptr<BenchCluster> cluster(new BenchCluster(clock, size));
  if (auto filled = cluster->fill(); !filled) return filled.error();
  return cluster;
}

Result<void> BenchCluster::fill() {
  for (int i = 0; i < size_.nodes; ++i) {
    auto made = create_object("/api/v1/nodes", node_json(inventory(i, size_.cards_per_node)));
    if (!made) return made.error();
    names_.push_back(node_name(i));
  }
  for (int i = 0; i < size_.pods; ++i) {
    if (auto running = run_pod(i); !running) return running;
  }
  return {};
}

Result<std::string> BenchCluster::create_object(const std::string& path, std::string body) {
  auto made = api_.call(create_request(path, std::move(body)));
  if (!made) return made.error();
  if (made->status != 201) return fail(Errc::kConflict, kube::status_message(*made));
  return std::move(made->body);
}

Result<BenchCluster::MadePod> BenchCluster::create_pod(const PodSpec& spec) {
  auto json = create_object(pods_path(spec.ns), pod_json(spec));
  if (!json) return json.error();
  auto pod = kube::decode_pod(*json);
  if (!pod) return pod.error();
  return MadePod{{pod->ns, pod->name, pod->uid}, std::move(*json)};
}

Result<void> BenchCluster::run_pod(int number) {
  const int node = number % size_.nodes;
  const int card = (number / size_.nodes) % size_.cards_per_node;
  const Mebibytes memory(kRunningMilli * kCardMemory / kWholeGpu.count());
  auto pod = create_pod({.ns = kNamespace,
                         .name = "running-" + std::to_string(number),
                         .annotations = {{"tangram.dev/gpu-fraction", "0.2"}},
                         .cpu = MilliCpu(2'000),
                         .memory = Mebibytes(8'192),
                         .slot = true,
                         .node = ""});
  if (!pod) return pod.error();
  const model::Grant grant{.pod_uid = pod->name.uid,
                           .node = names_[static_cast<std::size_t>(node)],
                           .issued_at = "2026-01-01T00:00:00Z",
                           .isolation = model::Isolation::kTimeSlice,
                           .containers = {{.container = "main",
                                           .cards = {{.uuid = card_id(node, card),
                                                      .memory = memory,
                                                      .compute = MilliGpu(kRunningMilli),
                                                      .memory_limit = memory,
                                                      .compute_limit = MilliGpu(kRunningMilli)}}}},
                           .signature = {}};
  return kube::bind_pod(api_,
                        {.ns = kNamespace,
                         .name = pod->name.name,
                         .uid = pod->name.uid,
                         .node = grant.node,
                         .annotations = {{"tangram.dev/gpu-grant", model::encode(grant)}}},
                        kTimeout);
}

Result<BenchCluster::MadePod> BenchCluster::make_pending(int number) {
  return create_pod({.ns = kNamespace,
                     .name = "pending-" + std::to_string(number),
                     .annotations = pending_annotations(number),
                     .cpu = MilliCpu(1'000),
                     .memory = Mebibytes(2'048),
                     .slot = true,
                     .node = ""});
}

Result<void> BenchCluster::remove(const ExtenderClient::PodName& pod) {
  const auto gone = api_.call(delete_request(pods_path(pod.ns) + "/" + pod.name));
  if (!gone || gone->status != 200)
    return fail(Errc::kConflict, "pod " + pod.name + " not deleted");
  return {};
}

}  // namespace tangram::bench
