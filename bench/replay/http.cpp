#include "bench/replay/http.hpp"

#include "bench/cluster_calls.hpp"
#include "bench/replay/audit.hpp"
#include "bench/replay/inprocess.hpp"
#include "kube/client.hpp"
#include "model/grant.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <thread>

namespace tangram::bench {

namespace {

constexpr const char* kNamespace = "replay";
constexpr std::chrono::milliseconds kTimeout{10'000};

/// The annotations of the trace's pod.
std::map<std::string, std::string> annotations_of(const TracePod& pod) {
  std::map<std::string, std::string> annotations;
  if (pod.gpus == 0) return annotations;
  if (pod.gpu_milli < policies::kDeviceMilli) {
    annotations[model::full_name(model::kFractionKey)] = fmt::format("0.{:03}", pod.gpu_milli);
  } else {
    annotations[model::full_name(model::kCountKey)] = std::to_string(pod.gpus);
  }
  if (!pod.models.empty()) {
    annotations[model::full_name(model::kModelKey)] = fmt::format("{}", fmt::join(pod.models, ","));
  }
  return annotations;
}

/// kube-scheduler's default scores for the pod's CPU and memory on the node, 0..200:
/// NodeResourcesFit (LeastAllocated) + NodeResourcesBalancedAllocation, both of weight 1.
std::int64_t in_tree_score(const model::NodeState& node, const TracePod& pod) {
  const auto share_after = [](std::int64_t free, std::int64_t request, std::int64_t capacity) {
    return capacity == 0
               ? 1.0
               : static_cast<double>(capacity - free + request) / static_cast<double>(capacity);
  };
  const double cpu =
      share_after(node.free_cpu().count(), pod.cpu_milli, node.inventory->cpu.count());
  const double memory =
      share_after(node.free_memory().count(), pod.memory_mib, node.inventory->memory.count());
  const double least_allocated = ((1 - cpu) + (1 - memory)) / 2;
  const double balanced = 1 - std::abs(cpu - memory) / 2;
  return static_cast<std::int64_t>(100 * least_allocated) +
         static_cast<std::int64_t>(100 * balanced);
}

}  // namespace

HttpScheduler::HttpScheduler(const Trace& trace, HttpReplayOptions options)
    : trace_(trace), options_(std::move(options)), api_(clock_) {
  for (std::size_t i = 0; i < trace.nodes.size(); ++i) node_index_[trace.nodes[i].name] = i;
  std::mt19937_64 random(options_.audit_seed);
  while (audit_at_.size() <
         std::min(static_cast<std::size_t>(options_.audits), trace.arrivals.size())) {
    audit_at_.insert(random() % trace.arrivals.size());
  }
}

Result<std::unique_ptr<HttpScheduler>> HttpScheduler::create(const Trace& trace,
                                                             HttpReplayOptions options) {
  std::unique_ptr<HttpScheduler> scheduler(new HttpScheduler(trace, std::move(options)));
  if (auto started = scheduler->start(); !started) return started.error();
  return scheduler;
}

Result<void> HttpScheduler::start() {
  for (const TraceNode& node : trace_.nodes) {
    if (auto created = create_node(api_, inventory_of(node)); !created) return created;
  }
  config::Config config = local_config(options_.policy, options_.short_list);
  config.scheduler.default_isolation = model::Isolation::kNone;  // the traces have no modes
  config.card_preemption.enabled = false;
  config.broken_cards.evict = false;
  auto extender =
      start_extender(config, {.api = api_,
                              .clock = clock_,
                              .replica = std::nullopt,
                              .workload = std::make_shared<policies::Workload>(
                                  policies::workload_of(trace_.workload, model::Isolation::kNone)),
                              .learn_at_once = true});
  if (!extender) return extender.error();
  extender_.emplace(std::move(*extender));
  return {};
}

Result<HttpScheduler::Known*> HttpScheduler::create_pod(PodNumber number, const TracePod& pod) {
  Known made{.name = {kNamespace, pod_name(number), ""}, .json = {}};
  auto created = bench::create_pod(api_, kNamespace,
                                   pod_json({.ns = kNamespace,
                                             .name = made.name.name,
                                             .annotations = annotations_of(pod),
                                             .cpu = MilliCpu(pod.cpu_milli),
                                             .memory = Mebibytes(pod.memory_mib),
                                             .slot = pod.gpus > 0,
                                             .priority = pod.priority,
                                             .node = ""}));
  if (!created) return created.error();
  made.json = *created;
  auto decoded = kube::decode_pod(std::move(*created));
  if (!decoded) return decoded.error();
  made.name.uid = decoded->uid;
  // Like Tangram, kube-scheduler gets the pod from a watch, and calls the extender some time later.
  // So the extender has counted the arrival before the call, and learns the same in every replay.
  extender_->wait_until_seen(made.name.uid);
  return &pods_.emplace(number, std::move(made)).first->second;
}

/// Returns when the extender knows that its room is free.
Result<void> HttpScheduler::remove(PodNumber number) {
  const auto known = pods_.find(number);
  if (known == pods_.end()) return {};
  const Known pod = std::move(known->second);
  pods_.erase(known);
  if (auto deleted = delete_pod(api_, kNamespace, pod.name.name); !deleted) return deleted;
  if (pod.bound) extender_->wait_until_released(pod.name.uid);
  return {};
}

Result<void> HttpScheduler::move(const std::vector<Move>& /*moves*/) {
  return fail(Errc::kInvalidArgument,
              "pods cannot be moved via http, because the extender, not the replay, chooses cards; "
              "write --via inproc");
}

Result<void> HttpScheduler::set_health(std::size_t node, const std::vector<std::uint32_t>& gpus,
                                       bool healthy) {
  const std::string& name = trace_.nodes[node].name;
  model::NodeInventory inventory = *snapshot()->find(name)->inventory;
  for (const std::uint32_t gpu : gpus) inventory.cards[gpu].healthy = healthy;
  if (auto updated = publish_cards(api_, inventory); !updated) return updated;
  while (snapshot()->find(name)->inventory->cards != inventory.cards) std::this_thread::yield();
  return {};
}

std::shared_ptr<const model::ClusterSnapshot> HttpScheduler::snapshot() {
  return extender_->app->ledger().snapshot();
}

Result<std::string> HttpScheduler::choose_node(const TracePod& pod, std::string_view json,
                                               const std::vector<std::string>& short_list) {
  auto scores = extender_->client.prioritize(json, short_list);
  if (!scores) return scores.error();
  const auto cluster = snapshot();
  const std::string* best = nullptr;
  std::int64_t best_score = -1;
  for (const auto& [host, score] : *scores) {
    const model::NodeState* node = cluster->find(host);
    if (node == nullptr) return fail(Errc::kConflict, "prioritize scored unknown node " + host);
    const std::int64_t total = score * options_.weight * 10 + in_tree_score(*node, pod);
    if (total <= best_score) continue;
    best = &host;
    best_score = total;
  }
  if (best == nullptr) return fail(Errc::kConflict, "prioritize scored no node");
  return *best;
}

Result<Placed> HttpScheduler::read_grant(const ExtenderClient::PodName& pod,
                                         const std::string& node) {
  const auto bound = kube::read_pod(api_, pod.ns, pod.name, kTimeout);
  if (!bound) return bound.error();
  if (bound->node != node) return fail(Errc::kConflict, "pod " + pod.name + " is not on " + node);
  Placed placed{.node = node_index_.at(node), .gpus = {}};
  const auto text = bound->annotations.find(model::kGrantKey);
  if (text == bound->annotations.end()) return placed;
  const auto grant = model::decode_grant(text->second);
  if (!grant) return grant.error();
  placed.gpus = gpus_of(grant->containers, node);
  return placed;
}

Result<void> HttpScheduler::audit_if_due(PodNumber number) {
  if (audit_at_.erase(number) == 0) return {};
  auto passed = audit(api_, clock_, *snapshot());
  if (!passed) return passed;
  ++audits_passed_;
  return {};
}

std::string HttpScheduler::remarks() const {
  if (options_.audits == 0) return {};
  return "audits      " + std::to_string(audits_passed_) +
         " rebuilds from the API server gave the same ledger\n";
}

Result<std::optional<std::string>> HttpScheduler::schedule(
    const TracePod& pod, const std::string& json, const std::vector<std::size_t>& feasible) {
  using Node = std::optional<std::string>;
  if (feasible.empty()) return Node{};  // kube-scheduler calls no extender then
  std::vector<std::string> names;
  names.reserve(feasible.size());
  for (const std::size_t node : feasible) names.push_back(trace_.nodes[node].name);
  const auto filtered = extender_->client.filter(json, names);
  if (!filtered) return filtered.error();
  if (!filtered->error.empty()) return fail(Errc::kConflict, "filter: " + filtered->error);
  if (filtered->nodes.empty()) return Node{};
  auto node = choose_node(pod, json, filtered->nodes);
  if (!node) return node.error();
  return Node(std::move(*node));
}

Result<std::optional<Placed>> HttpScheduler::place(PodNumber number, const TracePod& pod,
                                                   const std::vector<std::size_t>& feasible) {
  if (auto audited = audit_if_due(number); !audited) return audited.error();
  const auto waiting = pods_.find(number);
  const auto known =
      waiting == pods_.end() ? create_pod(number, pod) : Result<Known*>(&waiting->second);
  if (!known) return known.error();
  const auto node = schedule(pod, (*known)->json, feasible);
  if (!node) return node.error();
  if (!*node) return std::optional<Placed>{};
  const auto refused = extender_->client.bind((*known)->name, **node);
  if (!refused) return refused.error();
  if (!refused->empty()) return fail(Errc::kConflict, "bind: " + *refused);
  (*known)->bound = true;
  auto placed = read_grant((*known)->name, **node);
  if (!placed) return placed.error();
  return std::optional(std::move(*placed));
}

}  // namespace tangram::bench
