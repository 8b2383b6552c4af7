#include "cli/doctor/checks.hpp"
#include "cli/format.hpp"
#include "cli/json_path.hpp"
#include "cluster/findings.hpp"
#include "model/cards.hpp"
#include "node/publish/other_drivers.hpp"

#include <map>
#include <utility>

namespace tangram::cli {

namespace {

constexpr const char* kSubject = "nodes";
constexpr const char* kAgents = "agents";
constexpr const char* kDaemonSet = "tangram-node";
/// A running scheduler has tried every pod by then.
constexpr std::chrono::seconds kTriedWithin{30};

std::string agent_logs(const Examination& examination) {
  return examination.kubectl() + " logs -l app.kubernetes.io/name=tangram-node";
}

std::string in_parentheses(std::string name, std::string_view what) {
  return std::move(name.append(" (").append(what) += ')');
}

/// Names of nodes and cards, by what was found.
struct NodeFindings {
  std::vector<std::string> with_cards;
  std::vector<std::string> unreadable;
  std::vector<std::string> unreported;  ///< labelled, but without an annotation
  std::vector<std::string> without_slots;
  std::vector<std::string> shared;        ///< another device plugin advertises GPUs there
  std::vector<std::string> driver_cards;  ///< a DRA driver publishes them, too
  std::vector<std::string> unhealthy_cards;
  std::map<std::string, std::vector<std::string>> nodes_of_cards;  ///< by UUID
  std::size_t cards = 0;
  std::size_t cordoned = 0;

  void add_cards(const ListedNode& node, const std::vector<model::Card>& found,
                 const node::DriverCards& published) {
    for (const model::Card& card : found) {
      ++cards;
      if (card.cordoned) ++cordoned;
      nodes_of_cards[card.id].push_back(node.own.name);
      const std::string name = card.id + " of " + node.own.name;
      if (const std::string driver(published.driver_of(card)); !driver.empty()) {
        driver_cards.push_back(in_parentheses(name, driver));
      }
      if (!card.healthy) unhealthy_cards.push_back(in_parentheses(name, card.unavailable_reason));
    }
  }

  void add_node(const ListedNode& node, const model::ClusterSnapshot& ledger,
                const node::DriverCards& published) {
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
    add_cards(node, *found, published);
    const model::NodeState* state = ledger.find(name);
    if (state != nullptr && state->inventory->slots == 0) without_slots.push_back(name);
    if (!node.own.foreign.empty()) {
      shared.push_back(name + " (" + *node.own.foreign.begin() + ")");
    }
  }
};

/// "GPU-1 of a and b" of each card that several nodes list.
std::vector<std::string> repeated_cards(const NodeFindings& found) {
  std::vector<std::string> cards;
  for (const auto& [uuid, nodes] : found.nodes_of_cards) {
    if (nodes.size() > 1) cards.push_back(uuid + " of " + joined(nodes, " and "));
  }
  return cards;
}

void report_findings(const Examination& examination, const NodeFindings& found) {
  const auto add = [&](Level level, const std::vector<std::string>& names, const std::string& what,
                       const std::string& next) {
    if (names.empty()) return;
    examination.add({level, kSubject, what + ": " + some_of(names), next});
  };
  add(Level::kFail, found.unreadable, "annotation tangram.dev/cards cannot be read",
      "the node's agent writes it again when it starts; see its log: " + agent_logs(examination));
  add(Level::kFail, found.without_slots, "cards, but no tangram.dev/gpu-slot in allocatable",
      "the agent's device plugin is not registered with kubelet, which takes some seconds after "
      "its start: " +
          agent_logs(examination));
  add(Level::kFail, repeated_cards(found), "several nodes list the same card",
      "`nvidia-smi -L` shows which has it; another one's agent publishes a card that is not there, "
      "so drain that node and find out why");
  add(Level::kWarn, found.unreported, "label tangram.dev/gpu, but no cards annotation",
      "the node's agent has not reported its cards: " + agent_logs(examination));
  add(Level::kWarn, found.unhealthy_cards, "unhealthy cards",
      "see the reason in docs/node.md, \"Health and cordon\"");
  add(Level::kWarn, found.shared, "another device plugin advertises GPUs of the node",
      "see deploy/node/README.md, \"From NVIDIA's plugin\": stop that plugin on these nodes, or "
      "name Tangram's cards in the agent's --own-cards");
  add(Level::kWarn, found.driver_cards, "a DRA driver publishes the same cards",
      "see deploy/node/README.md, \"Beside a DRA driver\": stop that driver on these nodes, or "
      "name Tangram's cards in the agent's --own-cards");
}

/// What DRA drivers publish on all nodes.
/// @returns none if that cannot be read; the report says why
node::DriverCards driver_cards(const Examination& examination) {
  const auto listed = node::list_driver_cards(examination.installation.api, "");
  if (listed) return *listed;
  if (listed.error().code == Errc::kNotFound) return {};
  examination.unreadable(kSubject,
                         {listed.error().code == Errc::kConflict ? Reading::Outcome::kForbidden
                                                                 : Reading::Outcome::kFailed,
                          0, "", listed.error().message});
  return {};
}

/// Pods that no scheduler has tried, by their schedulerName.
void check_schedulers(const Examination& examination, const Cluster& cluster) {
  const std::string latest = rfc3339(examination.installation.clock.wall() - kTriedWithin);
  std::map<std::string, std::vector<std::string>> untried;
  for (const GpuPod& gpu : cluster.pods()) {
    if (!gpu.pod.node.empty() || gpu.pod.tried || gpu.pod.gated) continue;
    if (!cluster::has_slots(gpu.pod) || gpu.created > latest) continue;
    // API servers write the default; tools that stand in for one may omit it.
    const std::string& named = gpu.pod.scheduler;
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

/// The RuntimeClass of the agents' pods, if the API server does not have it.
/// @returns "" if it has, if the pods need none, or if that cannot be read; the report says why
std::string missing_runtime_class(const Examination& examination, const std::string& daemon_set) {
  std::string name = text_at(daemon_set, {"spec", "template", "spec", "runtimeClassName"});
  if (name.empty()) return "";
  const Reading read =
      try_get(examination.installation.api, "/apis/node.k8s.io/v1/runtimeclasses/" + name);
  if (read.outcome == Reading::Outcome::kMissing) return name;
  if (!read.found()) examination.unreadable("RuntimeClass " + name, read);
  return "";
}

/// The newest warning about the DaemonSet, "REASON at TIME: MESSAGE".
/// @returns "" if there is none, or if that cannot be read; the report says why
std::string newest_warning(const Examination& examination) {
  const Reading read =
      examination.get("/api/v1", "/events",
                      {{"fieldSelector", "involvedObject.kind=DaemonSet,involvedObject.name=" +
                                             std::string(kDaemonSet) + ",type=Warning"}});
  if (!read.found()) {
    examination.unreadable("events of DaemonSet " + std::string(kDaemonSet), read);
    return "";
  }
  std::string newest;
  std::string text;
  for_each_at(read.text, {"items"}, [&](std::string_view event) {
    std::string time = text_at(event, {"lastTimestamp"});
    if (time.empty()) time = text_at(event, {"eventTime"});
    if (time < newest) return;
    newest = time;
    text = text_at(event, {"reason"}) + " at " + time + ": " + unescaped_at(event, {"message"});
  });
  return text;
}

/// Why not all agents run, and what to do.
void report_agents(const Examination& examination, const std::string& text,
                   const std::string& daemon_set) {
  const std::string missing = missing_runtime_class(examination, daemon_set);
  if (!missing.empty()) {
    return examination.fail(
        kAgents,
        text + ": RuntimeClass " + missing + " does not exist, so no pod of DaemonSet " +
            kDaemonSet + " can be made",
        "create it, as NVIDIA's GPU operator does; or, where NVIDIA's runtime is the nodes' "
        "default, omit runtimeClassName (chart: agent.runtimeClassName): deploy/node/README.md");
  }
  const std::string warning = newest_warning(examination);
  examination.fail(kAgents, text + (warning.empty() ? "" : ": " + warning),
                   examination.kubectl() +
                       " get pods -l app.kubernetes.io/name=tangram-node -o wide; the DaemonSet's "
                       "node selector decides which nodes get one");
}

/// The pods of a DaemonSet, by its status.
struct DaemonPods {
  explicit DaemonPods(std::string_view daemon_set)
      : wanted(count(daemon_set, "desiredNumberScheduled")),
        ready(count(daemon_set, "numberReady")),
        updated(count(daemon_set, "updatedNumberScheduled")) {}

  [[nodiscard]] std::string text() const {
    return std::to_string(ready) + " of " + std::to_string(wanted) + " are ready";
  }

  std::int64_t wanted;
  std::int64_t ready;
  std::int64_t updated;  ///< of the chart's version

 private:
  static std::int64_t count(std::string_view daemon_set, const char* member) {
    return number_at(daemon_set, {"status", member}).value_or(0);
  }
};

}  // namespace

void check_nodes(const Examination& examination, const Cluster& cluster) {
  NodeFindings found;
  const auto ledger = cluster.snapshot();
  const node::DriverCards published = driver_cards(examination);
  for (const ListedNode& node : cluster.nodes()) found.add_node(node, *ledger, published);
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
  const Reading read = examination.get("/apis/apps/v1", std::string("/daemonsets/") + kDaemonSet);
  if (!read.found()) {
    return examination.no_object(
        read, {Level::kWarn, kAgents,
               "no DaemonSet tangram-node in " + examination.installation.system_namespace,
               "install the agent: deploy/node/README.md; if it is in another namespace, give "
               "--system-namespace; if it has another name, see the lines of nodes"});
  }
  const DaemonPods pods(read.text);
  if (pods.ready >= pods.wanted && pods.wanted > 0) return examination.ok(kAgents, pods.text());
  report_agents(examination, pods.text(), read.text);
}

void check_mps_pods(const Examination& examination) {
  const std::string subject = "MPS daemons' pods";
  const Reading read = examination.get("/apis/apps/v1", "/daemonsets/tangram-mps");
  if (read.outcome == Reading::Outcome::kMissing) return;  // agent.mps: false
  if (!read.found()) return examination.unreadable(subject, read);
  const DaemonPods pods(read.text);
  if (pods.ready < pods.wanted) {
    return examination.fail(
        subject, pods.text() + ": on the other nodes no pod can share a card by MPS",
        examination.kubectl() + " get pods -l app.kubernetes.io/name=tangram-mps -o wide");
  }
  // Not an error: their end ends the work of their clients, so upgrades leave them.
  if (pods.updated < pods.wanted) {
    return examination.warn(subject,
                            pods.text() + ", " + std::to_string(pods.wanted - pods.updated) +
                                " of an earlier version of the chart",
                            "delete them when no pod of their nodes shares a card by MPS: "
                            "docs/operations.md, \"Pods of MPS daemons\"");
  }
  examination.ok(subject, pods.text());
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
