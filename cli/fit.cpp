#include "cli/fit.hpp"

#include "base/json.hpp"
#include "base/quantity.hpp"
#include "cli/format.hpp"
#include "cli/table.hpp"
#include "cluster/isolation_text.hpp"
#include "model/annotations.hpp"

#include <algorithm>
#include <utility>

namespace tangram::cli {

namespace {

constexpr std::size_t kMostNodes = 20;

Result<KubeQuantity> amount_of(const std::string& text, const std::string& flag) {
  if (text.empty()) return KubeQuantity();
  auto amount = KubeQuantity::parse(text);
  if (!amount) return fail(Errc::kInvalidArgument, flag + ": " + amount.error().message);
  return amount;
}

/// The value of the key, appended if there is none.
template <class Value>
Value& value_of(std::vector<std::pair<std::string, Value>>& entries, const std::string& key) {
  const auto known = std::find_if(entries.begin(), entries.end(),
                                  [&](const auto& entry) { return entry.first == key; });
  return known != entries.end() ? known->second : entries.emplace_back(key, Value()).second;
}

/// How many of the pods share each card, in order of first use.
std::vector<std::pair<std::string, std::size_t>> card_counts(const std::vector<Placed>& pods) {
  std::vector<std::pair<std::string, std::size_t>> cards;
  for (const Placed& pod : pods) {
    for (const std::string& uuid : cards_of(pod.containers)) ++value_of(cards, uuid);
  }
  return cards;
}

std::string cards_text(const std::vector<Placed>& pods, bool wide) {
  std::vector<std::string> texts;
  for (const auto& [uuid, count] : card_counts(pods)) {
    texts.push_back((wide ? uuid : short_uuid(uuid)) +
                    (count == 1 ? "" : " ×" + std::to_string(count)));
  }
  return joined(texts);
}

/// The pods on each node: the requested pods, or all that fit.
NodePods pods_by_node(const FitResult& result) {
  if (result.requested == 0) return result.capacity.nodes;
  NodePods nodes;
  for (const Placed& place : result.places) value_of(nodes, place.node).push_back(place);
  return nodes;
}

std::string headline(const Screen& screen, const FitResult& result) {
  const auto pods = [&](std::size_t count) {
    return counted(count, "more pod") + " of " + result.request;
  };
  const std::string at_least = result.capacity.more ? "at least " : "";
  const std::string most = at_least + std::to_string(result.capacity.pods);
  if (result.requested == 0) {
    return paint(
        screen.style, kBold,
        at_least + pods(result.capacity.pods) + (result.capacity.pods == 1 ? " fits" : " fit"));
  }
  if (result.fits()) {
    return paint(screen.style, kGood,
                 pods(result.requested) + (result.requested == 1 ? " fits" : " fit")) +
           ", and up to " + most + " would";
  }
  return paint(screen.style, kBad, pods(result.requested) + " do not fit") + ", " + most + " would";
}

}  // namespace

bool FitResult::fits() const {
  return requested == 0 ? capacity.pods > 0 : places.size() >= requested;
}

std::set<std::string> cordoned_nodes(const Cluster& cluster) {
  std::set<std::string> cordoned;
  for (const ListedNode& node : cluster.nodes()) {
    if (node.unschedulable) cordoned.insert(node.own.name);
  }
  return cordoned;
}

Result<kube::Pod> pod_of(const FitRequest& request) {
  const bool requests_gpu = request.annotations.contains(model::kFractionKey) ||
                            request.annotations.contains(model::kMemoryKey) ||
                            request.annotations.contains(model::kCountKey);
  if (!requests_gpu) {
    return fail(Errc::kInvalidArgument,
                "no GPU is requested; give --gpu-fraction 0.5, --gpu-mem 8Gi or --gpu-count 2");
  }
  const auto cpu = amount_of(request.cpu, "--cpu");
  if (!cpu) return cpu.error();
  const auto memory = amount_of(request.memory, "--memory");
  if (!memory) return memory.error();
  kube::Pod pod;
  pod.uid = "fit";
  pod.name = "fit";
  for (const auto& [key, value] : request.annotations) pod.annotations[key] = value;
  pod.containers.push_back({.name = "main", .slots = 1});
  pod.footprint = {
      .cpu = MilliCpu(cpu->milli_ceil()), .memory = memory->mebibytes_ceil(), .slots = 1};
  return pod;
}

Result<FitResult> compute_fit(const Cluster& cluster, const FitRequest& request) {
  const auto pod = pod_of(request);
  if (!pod) return pod.error();
  const auto plan = cluster.policies().plan(*pod);
  if (!plan) return plan.error();
  Simulation simulation(*cluster.snapshot(), cordoned_nodes(cluster));
  FitResult result{.request = request_text(plan->demand.gpu),
                   .policy = std::string(plan->policy->name()),
                   .isolation = std::string(cluster::isolation_text(plan->demand.gpu)),
                   .requested = request.count,
                   .capacity = simulation.capacity(*pod, *plan, kMostCounted)};
  while (result.places.size() < request.count) {
    Outcome outcome = simulation.place(*pod, *plan);
    auto* const placed = std::get_if<Placed>(&outcome);
    if (placed == nullptr) break;
    result.places.push_back(std::move(*placed));
  }
  return result;
}

std::string draw_fit(const Screen& screen, const FitResult& result, bool wide) {
  std::string text = headline(screen, result) + " (isolation " + result.isolation + ", policy " +
                     result.policy + ")\n";
  const auto nodes = pods_by_node(result);
  Table table({{.name = "NODE", .may_shrink = true},
               {.name = "PODS", .right = true},
               {.name = "CARDS", .may_shrink = true, .prose = true}});
  const std::size_t shown = wide ? nodes.size() : std::min(nodes.size(), kMostNodes);
  for (std::size_t i = 0; i < shown; ++i) {
    const auto& [node, pods] = nodes[i];
    table.add({node, std::to_string(pods.size()), cards_text(pods, wide)});
  }
  if (!table.empty()) text += "\n" + table.text(screen);
  if (shown < nodes.size()) {
    text += "and " + counted(nodes.size() - shown, "more node") + "; all: -o wide\n";
  }
  if (!result.capacity.none.reasons.empty()) {
    text += "\nnodes without room:\n";
    for (const auto& [reason, count] : result.capacity.none.reasons) {
      text += "  " + std::to_string(count) + " × " + reason + "\n";
    }
  }
  return text;
}

std::string fit_json(const FitResult& result) {
  std::string text;
  json::Writer out(text);
  out.begin_object().member("request", result.request).member("policy", result.policy);
  out.member("isolation", result.isolation).member("fits", result.fits());
  out.member("pods", static_cast<std::int64_t>(result.capacity.pods));
  out.member("atLeast", result.capacity.more).key("nodes").begin_array();
  for (const auto& [node, pods] : result.capacity.nodes) {
    out.begin_object().member("node", node);
    out.member("pods", static_cast<std::int64_t>(pods.size())).key("cards").begin_array();
    for (const auto& [uuid, count] : card_counts(pods)) {
      out.begin_object().member("uuid", uuid).member("pods", static_cast<std::int64_t>(count));
      out.end_object();
    }
    out.end_array().end_object();
  }
  out.end_array().key("reasons").begin_object();
  for (const auto& [reason, count] : result.capacity.none.reasons) {
    out.member(reason, static_cast<std::int64_t>(count));
  }
  out.end_object().key("places").begin_array();
  for (const Placed& place : result.places) {
    out.begin_object().member("node", place.node).key("cards").begin_array();
    for (const auto& [uuid, count] : card_counts({place})) out.string(uuid);
    out.end_array().end_object();
  }
  out.end_array().end_object();
  return text;
}

}  // namespace tangram::cli
