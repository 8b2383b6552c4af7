#include "cli/pods.hpp"

#include "base/json.hpp"
#include "cli/explain_view.hpp"
#include "cli/format.hpp"
#include "cli/table.hpp"
#include "cluster/agent_words.hpp"
#include "cluster/resize.hpp"
#include "model/request.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

namespace tangram::cli {

namespace {

/// How far its resize is; "" = it has what it requests.
std::string resize_state(const GpuPod& gpu, const Cluster& cluster) {
  const auto snapshot = cluster.snapshot();
  const model::NodeState* const node = snapshot->find(gpu.pod.node);
  if (node == nullptr) return "";
  const auto resizable = cluster.table().find_resizable(gpu.pod.uid);
  const auto resize = cluster::resize_of(gpu.recorded.allocation, resizable.get(), *node);
  return resize ? std::string(to_string(resize->state)) : "";
}

PodLine line_of(const GpuPod& gpu, const Cluster& cluster) {
  PodLine line{.ns = gpu.pod.ns, .name = gpu.pod.name, .node = gpu.pod.node};
  const model::Allocation& allocation = gpu.recorded.allocation;
  line.cards = cards_of(allocation.containers);
  if (gpu.plan) line.request = request_text(gpu.plan->demand.gpu);
  line.grant = grant_text(allocation.containers);
  if (!line.cards.empty()) line.isolation = to_string(allocation.isolation);
  line.memory_limits = limits_text(allocation.containers);
  line.state = state_of(gpu.pod);
  line.resize = resize_state(gpu, cluster);
  line.findings = cluster.table().notes(gpu.pod.uid);
  return line;
}

std::string or_dash(const std::string& text) { return text.empty() ? "-" : text; }

std::string findings_text(const PodLine& pod) {
  std::vector<std::string> names;
  for (const cluster::Note& note : pod.findings) names.emplace_back(to_string(note.finding));
  return or_dash(joined(names, ","));
}

}  // namespace

std::string state_of(const kube::Pod& pod) {
  if (pod.deleting) return "Terminating";
  if (pod.node.empty()) return pod.gated ? "Gated" : "Pending";
  if (!cluster::agent_words(pod, model::kCannotStart).empty()) return "CannotStart";
  if (!cluster::agent_words(pod, model::kNotYet).empty()) return "NotYet";
  return pod.started ? "Running" : "Starting";
}

std::vector<PodLine> pod_lines(const Cluster& cluster, const std::string& ns) {
  std::vector<PodLine> lines;
  for (const GpuPod& gpu : cluster.pods()) {
    if (ns.empty() || gpu.pod.ns == ns) lines.push_back(line_of(gpu, cluster));
  }
  return lines;
}

Result<void> ask_about_resizes(std::vector<PodLine>& pods, const ExplainPod& explain) {
  for (PodLine& pod : pods) {
    if (pod.resize != to_string(cluster::ResizeState::kProposed) &&
        pod.resize != to_string(cluster::ResizeState::kInProgress)) {
      continue;
    }
    auto text = explain(pod.ns, pod.name);
    if (!text && text.error().code == Errc::kNotFound) continue;
    if (!text) return text.error();
    auto view = read_explain_view(std::move(*text));
    if (!view) return view.error();
    pod.resize = std::move(view->resize_state);
  }
  return {};
}

std::string draw_pods(const Screen& screen, const std::vector<PodLine>& pods,
                      const PodListStyle& style) {
  Table table({{.name = "NAMESPACE", .may_shrink = true, .omitted = !style.namespaces},
               {.name = "NAME", .may_shrink = true},
               {.name = "NODE", .may_shrink = true},
               {.name = "CARDS",
                .may_shrink = !style.wide,
                .prose = true,
                .dispensable = style.wide ? 0 : 2},
               {.name = "REQUEST"},
               {.name = "GRANT", .dispensable = style.wide ? 0 : 1},
               {.name = "ISOLATION", .omitted = !style.wide},
               {.name = "MEMORY LIMITS", .omitted = !style.wide},
               {.name = "STATE", .may_shrink = !style.wide, .prose = true},
               {.name = "FINDINGS", .omitted = !style.wide}});
  for (const PodLine& pod : pods) {
    const bool flawed = !style.wide && !pod.findings.empty();
    table.add({pod.ns, pod.name, or_dash(pod.node), or_dash(card_names(pod.cards, style.wide)),
               or_dash(pod.request), or_dash(pod.grant), or_dash(pod.isolation),
               or_dash(pod.memory_limits),
               pod.state + (pod.resize.empty() ? "" : ", resize " + pod.resize) +
                   (flawed ? " (" + findings_text(pod) + ")" : ""),
               findings_text(pod)});
  }
  return table.text(screen);
}

std::string pods_json(const std::vector<PodLine>& pods) {
  std::string text;
  json::Writer out(text);
  out.begin_object().key("pods").begin_array();
  for (const PodLine& pod : pods) {
    out.begin_object().member("namespace", pod.ns).member("name", pod.name);
    out.member("node", pod.node).key("cards").begin_array();
    for (const std::string& card : pod.cards) out.string(card);
    out.end_array().member("request", pod.request).member("grant", pod.grant);
    out.member("isolation", pod.isolation).member("memoryLimits", pod.memory_limits);
    out.member("state", pod.state).member("resize", pod.resize);
    out.key("findings").begin_array();
    for (const cluster::Note& note : pod.findings) {
      out.begin_object().member("finding", to_string(note.finding));
      out.member("message", note.sentence).end_object();
    }
    out.end_array().end_object();
  }
  out.end_array().end_object();
  return text;
}

}  // namespace tangram::cli
