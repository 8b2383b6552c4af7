#include "cli/doctor/checks.hpp"
#include "cli/format.hpp"
#include "cli/json_path.hpp"
#include "model/cards.hpp"

#include <map>

namespace tangram::cli {

namespace {

constexpr const char* kSubject = "nodes";
/// A running scheduler has tried every pod by then.
constexpr std::chrono::seconds kTriedWithin{30};

std::string agent_logs(const Examination& examination) {
  return examination.kubectl() + " logs -l app.kubernetes.io/name=tangram-node";
}

/// Names of nodes and cards, by what was found.
struct NodeFindings {
  std::vector<std::string> with_cards;
  std::vector<std::string> unreadable;
  std::vector<std::string> unreported;  ///< labelled, but without an annotation
  std::vector<std::string> without_slots;
  std::vector<std::string> shared;  ///< another device plugin advertises GPUs there
  std::vector<std::string> unhealthy_cards;
  std::size_t cards = 0;
  std::size_t cordoned = 0;

  void add_cards(const ListedNode& node, const std::vector<model::Card>& found) {
    for (const model::Card& card : found) {
      ++cards;
      if (card.cordoned) ++cordoned;
      if (card.healthy) continue;
      unhealthy_cards.push_back(card.id + " of " + node.own.name + " (" + card.unavailable_reason +
                                ")");
    }
  }

  void add_node(const ListedNode& node, const model::ClusterSnapshot& ledger) {
    const std::string& name = node.own.name;
    if (!node.own.cards) {
      if (node.own.gpu_label == "true") unreported.push_back(name);
      return;
    }
    const auto found = model::decode_cards(*node.own.cards);
    if (!found) {
      unreadable.push_back(name + " (" + found.error().message + ")");
      return;
    }
    if (found->empty()) return;
    with_cards.push_back(name);
    add_cards(node, *found);
    const model::NodeState* state = ledger.find(name);
    if (state != nullptr && state->inventory->slots == 0) without_slots.push_back(name);
    if (!node.own.foreign.empty()) {
      shared.push_back(name + " (" + *node.own.foreign.begin() + ")");
    }
  }
};

void report_findings(const Examination& examination, const NodeFindings& found) {
  const auto add = [&](Level level, const std::vector<std::string>& names, const std::string& what,
                       const std::string& next) {
    if (names.empty()) return;
    examination.report.push_back({level, kSubject, what + ": " + some_of(names), next});
  };
  add(Level::kFail, found.unreadable, "annotation tangram.dev/cards cannot be read",
      "the node's agent writes it again when it starts; see its log: " + agent_logs(examination));
  add(Level::kFail, found.without_slots, "cards, but no tangram.dev/gpu-slot in allocatable",
      "the agent's device plugin is not registered with kubelet, which takes some seconds after "
      "its start: " +
          agent_logs(examination));
  add(Level::kWarn, found.unreported, "label tangram.dev/gpu, but no cards annotation",
      "the node's agent has not reported its cards: " + agent_logs(examination));
  add(Level::kWarn, found.unhealthy_cards, "unhealthy cards",
      "see the reason in docs/node.md, \"Health and cordon\"");
  add(Level::kWarn, found.shared, "another device plugin advertises GPUs of the node",
      "see deploy/node/README.md, \"From NVIDIA's plugin\": stop that plugin on these nodes, or "
      "name Tangram's cards in the agent's --own-cards");
}

/// Pods that no scheduler has tried, by their schedulerName.
void check_schedulers(const Examination& examination, const Cluster& cluster) {
  const std::string latest = rfc3339(examination.installation.clock.wall() - kTriedWithin);
  std::map<std::string, std::vector<std::string>> untried;
  for (const GpuPod& gpu : cluster.pods()) {
    if (!gpu.waiting || gpu.waiting->seen_by_scheduler || gpu.pod.gated) continue;
    if (!has_slot(gpu.pod) || gpu.waiting->created > latest) continue;
    // API servers write the default; tools that stand in for one may omit it.
    const std::string& named = gpu.waiting->scheduler;
    untried[named.empty() ? "default-scheduler" : named].push_back(gpu.pod.full_name());
  }
  for (const auto& [scheduler, pods] : untried) {
    examination.fail(
        "scheduler",
        "no scheduler handles pods with schedulerName " + scheduler + ": " + some_of(pods),
        "give kube-scheduler a profile of that name (deploy/scheduler/README.md), or check that it "
        "runs: kubectl --namespace kube-system get pods -l component=kube-scheduler");
  }
}

}  // namespace

void check_nodes(const Examination& examination, const Cluster& cluster) {
  NodeFindings found;
  const auto ledger = cluster.snapshot();
  for (const ListedNode& node : cluster.nodes()) found.add_node(node, *ledger);
  const std::string nodes = counted(cluster.nodes().size(), "node");
  if (found.with_cards.empty()) {
    examination.fail(kSubject, "none of " + nodes + " lists GPU cards",
                     "install the agent on the GPU nodes: deploy/node/README.md");
  } else {
    std::string text = counted(found.cards, "card") + " on " +
                       std::to_string(found.with_cards.size()) + " of " + nodes;
    if (found.cordoned > 0) text += ", " + std::to_string(found.cordoned) + " cordoned";
    examination.ok(kSubject, text);
  }
  report_findings(examination, found);
}

void check_agents(const Examination& examination) {
  constexpr const char* kName = "agents";
  const Reading read = examination.get("/apis/apps/v1", "/daemonsets/tangram-node");
  if (!read.found()) {
    return examination.no_object(
        read, {Level::kWarn, kName,
               "no DaemonSet tangram-node in " + examination.installation.system_namespace,
               "install the agent: deploy/node/README.md; if it is in another namespace, give "
               "--system-namespace; if it has another name, see the lines of nodes"});
  }
  const auto wanted = number_at(read.text, {"status", "desiredNumberScheduled"}).value_or(0);
  const auto ready = number_at(read.text, {"status", "numberReady"}).value_or(0);
  const std::string text = std::to_string(ready) + " of " + std::to_string(wanted) + " are ready";
  if (ready >= wanted && wanted > 0) return examination.ok(kName, text);
  examination.fail(kName, text,
                   examination.kubectl() +
                       " get pods -l app.kubernetes.io/name=tangram-node -o wide; the DaemonSet's "
                       "node selector decides which nodes get one");
}

void check_pods(const Examination& examination, const Cluster& cluster) {
  check_schedulers(examination, cluster);
  std::map<std::string, std::vector<const kube::Pod*>> by_finding;
  for (const GpuPod& gpu : cluster.pods()) {
    for (const cluster::Note& note : cluster.table().notes(gpu.pod.uid)) {
      by_finding[std::string(to_string(note.finding))].push_back(&gpu.pod);
    }
  }
  for (const auto& [finding, pods] : by_finding) {
    std::vector<std::string> names;
    for (const kube::Pod* pod : pods) names.push_back(pod->full_name());
    examination.warn("pods", finding + ": " + some_of(names),
                     "kubectl tangram explain " + pods.front()->name + " --namespace " +
                         pods.front()->ns + " says what to do");
  }
  if (by_finding.empty()) {
    examination.ok("pods", counted(cluster.pods().size(), "GPU pod") + ", no findings");
  }
}

}  // namespace tangram::cli
