#include "cli/doctor/checks.hpp"
#include "cli/json_path.hpp"
#include "cli/words.hpp"
#include "model/cards.hpp"

#include <algorithm>
#include <map>
#include <string_view>

namespace tangram::cli {

namespace {

constexpr const char* kSubject = "nodes";
/// A scheduler that runs has looked at every pod by then.
constexpr std::chrono::seconds kLookedAtWithin{30};

std::string logs_of_agents(const Installation& installation) {
  return "kubectl --namespace " + installation.system_namespace +
         " logs -l app.kubernetes.io/name=tangram-node";
}

/// What is found of single nodes, by kind.
struct NodeNews {
  std::vector<std::string> with_cards;
  std::vector<std::string> unreadable;
  std::vector<std::string> silent;  ///< labelled, and without an annotation
  std::vector<std::string> without_slots;
  std::vector<std::string> shared;  ///< another plugin gives out cards there too
  std::vector<std::string> sick_cards;
  std::size_t cards = 0;
  std::size_t cordoned = 0;
};

void add_cards(const ListedNode& node, const std::vector<model::Card>& cards, NodeNews& news) {
  for (const model::Card& card : cards) {
    ++news.cards;
    if (card.cordoned) ++news.cordoned;
    if (card.healthy) continue;
    news.sick_cards.push_back(card.id + " of " + node.own.name + " (" + card.unavailable_reason +
                              ")");
  }
}

void add_node(const ListedNode& node, const model::ClusterSnapshot& ledger, NodeNews& news) {
  const std::string& name = node.own.name;
  if (!node.own.cards) {
    if (node.own.gpu_label == "true") news.silent.push_back(name);
    return;
  }
  const auto cards = model::decode_cards(*node.own.cards);
  if (!cards) {
    news.unreadable.push_back(name + " (" + cards.error().message + ")");
    return;
  }
  if (cards->empty()) return;
  news.with_cards.push_back(name);
  add_cards(node, *cards, news);
  const model::NodeState* state = ledger.find(name);
  if (state != nullptr && state->inventory->slots == 0) news.without_slots.push_back(name);
  if (!node.own.foreign.empty()) {
    news.shared.push_back(name + " (" + *node.own.foreign.begin() + ")");
  }
}

void tell(const Installation& installation, const NodeNews& news, Report& report) {
  const auto tell_if = [&](const std::vector<std::string>& names, Level level,
                           const std::string& what, const std::string& next) {
    if (!names.empty()) report.push_back({level, kSubject, what + ": " + some_of(names), next});
  };
  tell_if(news.unreadable, Level::kFail, "annotation tangram.dev/cards cannot be read",
          "the node's agent writes it anew when it starts; its log says more: " +
              logs_of_agents(installation));
  tell_if(news.without_slots, Level::kFail, "cards, and no tangram.dev/gpu-slot in allocatable",
          "the agent's device plugin is not registered with kubelet, which takes some seconds "
          "after its start: " +
              logs_of_agents(installation));
  tell_if(news.silent, Level::kWarn, "label tangram.dev/gpu, and no cards annotation",
          "the agent has not reported there: " + logs_of_agents(installation));
  tell_if(news.sick_cards, Level::kWarn, "cards that are not healthy",
          "docs/node.md, \"Health and cordon\", says for each reason what to do");
  tell_if(
      news.shared, Level::kWarn, "another device plugin gives out cards there too",
      "see deploy/node/README.md, \"From NVIDIA's plugin\": stop that plugin on these nodes, or "
      "name Tangram's cards in the agent's --own-cards");
}

bool holds_slot(const kube::Pod& pod) {
  return std::any_of(pod.containers.begin(), pod.containers.end(),
                     [](const model::ContainerInfo& info) { return info.slots > 0; });
}

/// Pods that no scheduler has looked at, by the scheduler that they name.
void check_schedulers(const Installation& installation, const Cluster& cluster, Report& report) {
  const std::string latest = rfc3339(installation.clock.wall() - kLookedAtWithin);
  std::map<std::string, std::vector<std::string>> unseen;
  for (const GpuPod& gpu : cluster.pods()) {
    if (!gpu.waiting || gpu.waiting->looked_at || gpu.pod.gated || !holds_slot(gpu.pod)) continue;
    if (gpu.waiting->created > latest) continue;
    // API servers write the default; tools that stand in for one may leave it out.
    const std::string& named = gpu.waiting->scheduler;
    unseen[named.empty() ? "default-scheduler" : named].push_back(gpu.pod.full_name());
  }
  for (const auto& [scheduler, pods] : unseen) {
    report.push_back(
        {Level::kFail, "scheduler",
         "no scheduler looks at pods with schedulerName " + scheduler + ": " + some_of(pods),
         "give kube-scheduler a profile of that name (deploy/scheduler/README.md), or "
         "see whether it runs: kubectl --namespace kube-system get pods -l "
         "component=kube-scheduler"});
  }
}

}  // namespace

void check_nodes(const Installation& installation, const Cluster& cluster, Report& report) {
  NodeNews news;
  const auto ledger = cluster.snapshot();
  for (const ListedNode& node : cluster.nodes()) add_node(node, *ledger, news);
  if (news.with_cards.empty()) {
    report.push_back({Level::kFail, kSubject,
                      "none of " + counted(cluster.nodes().size(), "node") + " lists GPU cards",
                      "install the agent on the GPU nodes: deploy/node/README.md"});
  } else {
    std::string text = counted(news.cards, "card") + " on " +
                       std::to_string(news.with_cards.size()) + " of " +
                       counted(cluster.nodes().size(), "node");
    if (news.cordoned > 0) text += ", " + std::to_string(news.cordoned) + " cordoned";
    report.push_back({Level::kOk, kSubject, std::move(text), ""});
  }
  tell(installation, news, report);
}

void check_agents(const Installation& installation, Report& report) {
  constexpr const char* kName = "agents";
  const Reading read = look(
      installation.api, system_path(installation, "/apis/apps/v1") + "/daemonsets/tangram-node");
  if (read.outcome == Reading::Outcome::kMissing) {
    report.push_back({Level::kWarn, kName,
                      "no DaemonSet tangram-node in " + installation.system_namespace,
                      "install the agent: deploy/node/README.md; if it is elsewhere or otherwise "
                      "named, say so with --system-namespace, or go by the lines of nodes"});
    return;
  }
  if (!read.found()) return add_unseen(report, kName, read);
  const auto wanted = number_at(read.text, {"status", "desiredNumberScheduled"}).value_or(0);
  const auto ready = number_at(read.text, {"status", "numberReady"}).value_or(0);
  const bool all = ready >= wanted && wanted > 0;
  report.push_back({all ? Level::kOk : Level::kFail, kName,
                    std::to_string(ready) + " of " + std::to_string(wanted) + " are ready",
                    all ? ""
                        : "kubectl --namespace " + installation.system_namespace +
                              " get pods -l app.kubernetes.io/name=tangram-node -o wide; the "
                              "DaemonSet's node selector decides where there should be one"});
}

void check_pods(const Installation& installation, const Cluster& cluster, Report& report) {
  check_schedulers(installation, cluster, report);
  std::map<std::string, std::vector<std::string>> by_finding;
  for (const GpuPod& gpu : cluster.pods()) {
    for (const cluster::Note& note : cluster.findings().of(gpu.pod.uid)) {
      by_finding[std::string(to_string(note.finding))].push_back(gpu.pod.full_name());
    }
  }
  for (const auto& [finding, pods] : by_finding) {
    report.push_back({Level::kWarn, "pods", finding + ": " + some_of(pods),
                      "kubectl tangram explain " + pods.front().substr(pods.front().find('/') + 1) +
                          " --namespace " + pods.front().substr(0, pods.front().find('/')) +
                          " says what to do"});
  }
  if (by_finding.empty()) {
    report.push_back({Level::kOk, "pods",
                      counted(cluster.pods().size(), "GPU pod") + ", nothing wrong with them", ""});
  }
}

}  // namespace tangram::cli
