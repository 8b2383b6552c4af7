#include "bench/demo/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>

namespace tangram::bench::demo {

namespace {

constexpr drawing::Ink kFilled{.text = 75, .ground = 237};
constexpr double kBytesPerGib = 1024.0 * 1024 * 1024;

std::string rounded_percent(double share) { return fmt::format("{:.0f} %", 100 * share); }

/// "name    value": the value behind its name, in a column.
std::string fact(const drawing::Style& style, std::string_view name, const std::string& value) {
  constexpr std::size_t kName = 30;
  constexpr std::size_t kIndent = 2;
  return std::string(kIndent, ' ') + drawing::left_in(name, kName) +
         drawing::wrapped(value, static_cast<std::size_t>(style.width), kName + kIndent) + "\n";
}

std::string amount(std::optional<double> value, double unit, int decimals,
                   std::string_view suffix) {
  return value ? fmt::format("{:.{}f}{}", *value / unit, decimals, suffix) : "not available";
}

std::string verb_line(std::string_view metrics, const std::string& verb) {
  const auto value = [&](std::string_view what) {
    constexpr auto kSeries = "tangram_extender_request_duration_seconds_{}{{verb=\"{}\"}}";
    return series_value(metrics, fmt::format(kSeries, what, verb)).value_or(0);
  };
  const double count = value("count");
  const double mean_us = count > 0 ? 1e6 * value("sum") / count : 0;
  return fmt::format("{:.0f} requests, {:.0f} µs on average", count, mean_us);
}

std::pair<std::string, std::string> split_name(const std::string& full_name) {
  const std::size_t slash = full_name.find('/');
  return {full_name.substr(0, slash), full_name.substr(slash + 1)};
}

}  // namespace

std::string draw_cluster_line(const drawing::Style& style, const drawing::ClusterView& cluster) {
  std::map<std::string, int> models;
  for (const drawing::NodeView& node : cluster.nodes) {
    for (const drawing::CardView& card : node.cards) ++models[card.model];
  }
  std::vector<std::pair<std::string, int>> sorted(models.begin(), models.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string text = std::to_string(cluster.nodes.size()) + " nodes with " +
                     std::to_string(cluster.card_count()) + " cards:";
  for (const auto& [model, count] : sorted) {
    text += (text.back() == ':' ? " " : ", ") + std::to_string(count) + drawing::kNoBreak + "×" +
            drawing::kNoBreak + model;
  }
  return drawing::wrapped(text, static_cast<std::size_t>(style.width), 0) + "\n";
}

std::string draw_highlight(const drawing::Style& style, const Driver::Highlight& highlight) {
  constexpr std::size_t kPod = 25;
  constexpr std::size_t kRequestPrefix = 42;
  const auto width = static_cast<std::size_t>(style.width);
  const bool placed = !highlight.node.empty();
  const std::string pod = drawing::left_in(drawing::shortened(highlight.pod, kPod), kPod);
  const std::string request = highlight.request.empty() ? "-" : highlight.request;
  const std::string outcome = placed ? highlight.node + highlight.outcome : highlight.outcome;
  std::string line =
      placed ? paint(style, drawing::kGood, "✔ ") : paint(style, drawing::kBad, "✘ ");
  line += paint(style, drawing::kBold, pod) + " ";
  const std::size_t begin = kPod + 3;
  const std::size_t request_room = std::min(kRequestPrefix, width - begin);
  if (placed && begin + kRequestPrefix + 3 + drawing::columns_of(outcome) <= width) {
    return line + drawing::left_in(drawing::shortened(request, request_room), request_room) +
           paint(style, drawing::kDim, " → ") + outcome + "\n";
  }
  // Too long for one line: the outcome goes below.
  line += drawing::shortened(request, width - begin) + "\n" + std::string(begin, ' ') +
          paint(style, drawing::kDim, "→ ");
  return line + drawing::wrapped(outcome, width, begin + 2) + "\n";
}

std::string draw_progress(const drawing::Style& style, const Driver::Counts& counts,
                          std::size_t total, double filled) {
  constexpr std::size_t kCells = 20;
  const auto done = std::min(kCells, kCells * counts.arrived / std::max<std::size_t>(1, total));
  const std::string bar =
      style.colour ? paint(style, kFilled, drawing::left_in(drawing::repeated("█", done), kCells))
                   : "[" + drawing::left_in(drawing::repeated("#", done), kCells) + "]";
  const std::string words =
      fmt::format("{}/{} arrived, {} run, {} wait, {} ended, GPU {}", counts.arrived, total,
                  counts.running, counts.waiting, counts.ended, rounded_percent(filled));
  return bar + " " + drawing::shortened(words, static_cast<std::size_t>(style.width) - kCells - 3);
}

std::optional<double> series_value(std::string_view page, std::string_view series) {
  while (!page.empty()) {
    const std::string_view line = page.substr(0, page.find('\n'));
    page.remove_prefix(std::min(line.size() + 1, page.size()));
    if (line.size() <= series.size() || !line.starts_with(series)) continue;
    if (line[series.size()] != ' ') continue;
    const std::string number(line.substr(series.size() + 1));
    char* end = nullptr;
    const double value = std::strtod(number.c_str(), &end);
    if (end != number.c_str()) return value;
  }
  return std::nullopt;
}

std::string draw_numbers(const drawing::Style& style, std::string_view metrics,
                         const Driver::Counts& counts, const std::vector<double>& history) {
  constexpr std::size_t kMostCells = 48;
  constexpr std::size_t kTaken = 38;  // the name before it, the percentage behind it
  const std::size_t cells = std::min(kMostCells, static_cast<std::size_t>(style.width) - kTaken);
  std::string out;
  const auto shown = [&](std::string_view series) { return series_value(metrics, series); };
  out += fact(style, "GPU granted over time",
              paint(style, {.text = 75}, drawing::sparkline(history, cells)) + " " +
                  rounded_percent(history.empty() ? 0 : history.back()));
  out += fact(style, "pods",
              fmt::format("{} placed, {} of them after waiting; {} ended, {} run, {} wait, {} "
                          "rejected as invalid",
                          counts.placed, counts.placed_after_waiting, counts.ended, counts.running,
                          counts.waiting, counts.refused));
  out += fact(style, "fragmentation",
              amount(shown("tangram_fragmentation_ratio"), 0.01, 1,
                     " % of the idle GPU does not fit the pods that arrived"));
  out += fact(style, "stranded memory",
              amount(shown("tangram_stranded_memory_bytes"), kBytesPerGib, 1,
                     " GiB free on cards without compute left"));
  for (const char* verb : {"filter", "prioritize", "bind"})
    out += fact(style, verb, verb_line(metrics, verb));
  out += fact(style, "binds",
              amount(shown("tangram_binds_total{result=\"bound\"}"), 1, 0, " bound, ") +
                  amount(shown("tangram_binds_total{result=\"no_room\"}"), 1, 0, " without room"));
  return out;
}

std::string draw_checks(const drawing::Style& style, const Audit& audit) {
  const std::string count = std::to_string(audit.checks());
  if (audit.broken().empty()) {
    return paint(style, drawing::kGood, "✔ ") +
           drawing::wrapped(
               count +
                   " checks of the pods' grants passed: no card exceeds its memory, compute or "
                   "sharers, is shared in two modes, or is unavailable; every bound GPU pod has "
                   "a grant; /api/v1/cluster shows the same sums",
               static_cast<std::size_t>(style.width), 2) +
           "\n";
  }
  constexpr std::size_t kShown = 20;
  std::string out = paint(style, drawing::kBad, "✘ ") + std::to_string(audit.broken().size()) +
                    " of " + count + " checks failed:\n";
  for (std::size_t i = 0; i < std::min(kShown, audit.broken().size()); ++i) {
    out += "  " + audit.broken()[i] + "\n";
  }
  return out;
}

std::string draw_next_steps(const drawing::Style& style, const std::string& address,
                            const std::string& running, const std::string& waiting) {
  std::string out;
  const auto step = [&](std::string_view what, const std::string& command) {
    out += paint(style, drawing::kDim, "# " + std::string(what)) + "\n" + command + "\n";
  };
  const std::string curl = "curl -s " + address;
  const auto explain = [&](const std::string& pod) {
    const auto [ns, name] = split_name(pod);
    return "curl -s '" + address + "/api/v1/explain?namespace=" + ns + "&pod=" + name + "'";
  };
  step("grants, card by card",
       curl + "/api/v1/cluster | jq -c '.nodes[].cards[] | [.model, .grantedMilli, .pods[].name]'");
  if (!waiting.empty()) {
    step("why a pod is pending, node by node",
         explain(waiting) + " | jq -c '.nodes[] | [.name, .fits, .why]'");
  }
  if (!running.empty()) step("the allocation of a pod", explain(running) + " | jq .");
  step(
      "nodes for a new pod",
      curl + R"(/filter -d '{"Pod":{"metadata":{"name":"me","namespace":"default","uid":"1",)" +
          R"("annotations":{"tangram.dev/gpu-mem":"4Gi"}},"spec":{"containers":[{"name":"main"}]}},)" +
          R"("NodeNames":["a100-a","l40s-a","t4-b"]}' | jq .)");
  step("metrics of the extender, and of each card",
       curl + "/metrics | grep -v '^#'\n" + curl + "/metrics/cards | grep compute_granted");
  return out;
}

}  // namespace tangram::bench::demo
