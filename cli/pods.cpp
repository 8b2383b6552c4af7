#include "cli/pods.hpp"

#include "base/json.hpp"
#include "cli/format.hpp"
#include "cli/table.hpp"
#include "model/request.hpp"

#include <algorithm>
#include <string_view>

namespace tangram::cli {

namespace {

bool has_message(const kube::Pod& pod, std::string_view words) {
  return std::any_of(pod.waiting.begin(), pod.waiting.end(), [&](const std::string& message) {
    return message.find(words) != std::string::npos;
  });
}

PodLine line_of(const GpuPod& gpu, const Cluster& cluster) {
  PodLine line{.ns = gpu.pod.ns, .name = gpu.pod.name, .node = gpu.pod.node};
  const model::Allocation& allocation = gpu.recorded.allocation;
  line.cards = cards_of(allocation.containers);
  if (gpu.plan) line.request = request_text(gpu.plan->demand.gpu);
  line.grant = grant_text(allocation.containers);
  if (!line.cards.empty()) line.isolation = to_string(allocation.isolation);
  line.state = state_of(gpu.pod);
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
  if (has_message(pod, model::kCannotStart)) return "CannotStart";
  if (has_message(pod, model::kNotYet)) return "NotYet";
  return pod.started ? "Running" : "Starting";
}

std::vector<PodLine> pod_lines(const Cluster& cluster, const std::string& ns) {
  std::vector<PodLine> lines;
  for (const GpuPod& gpu : cluster.pods()) {
    if (ns.empty() || gpu.pod.ns == ns) lines.push_back(line_of(gpu, cluster));
  }
  return lines;
}

std::string draw_pods(const Screen& screen, const std::vector<PodLine>& pods,
                      const PodListStyle& style) {
  std::vector<Table::Column> columns;
  if (style.namespaces) columns.push_back({.name = "NAMESPACE", .may_shrink = true});
  columns.push_back({.name = "NAME", .may_shrink = true});
  columns.push_back({.name = "NODE", .may_shrink = true});
  columns.push_back({.name = "CARDS",
                     .may_shrink = !style.wide,
                     .prose = true,
                     .dispensable = style.wide ? 0 : 2});
  columns.push_back({.name = "REQUEST"});
  columns.push_back({.name = "GRANT", .dispensable = style.wide ? 0 : 1});
  if (style.wide) columns.push_back({.name = "ISOLATION"});
  columns.push_back({.name = "STATE", .may_shrink = !style.wide, .prose = true});
  if (style.wide) columns.push_back({.name = "FINDINGS"});
  Table table(std::move(columns));
  for (const PodLine& pod : pods) {
    std::vector<std::string> cells;
    if (style.namespaces) cells.push_back(pod.ns);
    cells.insert(cells.end(),
                 {pod.name, or_dash(pod.node), or_dash(card_names(pod.cards, style.wide)),
                  or_dash(pod.request), or_dash(pod.grant)});
    if (style.wide) cells.push_back(or_dash(pod.isolation));
    const bool flawed = !style.wide && !pod.findings.empty();
    cells.push_back(pod.state + (flawed ? " (" + findings_text(pod) + ")" : ""));
    if (style.wide) cells.push_back(findings_text(pod));
    table.add(std::move(cells));
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
    out.member("isolation", pod.isolation).member("state", pod.state);
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
