#include "bench/replay/report.hpp"

#include "base/json.hpp"

#include <fmt/format.h>

#include <cmath>
#include <fstream>

namespace tangram::bench {

namespace {

/// 9514 -> "95.14"
std::string percent(std::int64_t hundredths) {
  return fmt::format("{}.{:02}", hundredths / 100, hundredths % 100);
}

std::string rounded_percent(double mean) {
  return percent(static_cast<std::int64_t>(std::llround(mean * 100)));
}

/// The marks worth showing: every ten percent.
std::map<int, double> round_marks(const Outcome& outcome) {
  std::map<int, double> shown = marks(outcome);
  std::erase_if(shown, [](const auto& mark) { return mark.first == 0 || mark.first % 10 != 0; });
  return shown;
}

std::int64_t count(std::size_t size) { return static_cast<std::int64_t>(size); }

}  // namespace

std::string placement_log(const Trace& trace, const Outcome& outcome) {
  std::string log = "order,pod,node,gpus\n";
  for (std::size_t i = 0; i < outcome.steps.size(); ++i) {
    const auto& placed = outcome.steps[i].placed;
    log += fmt::format(
        "{},{},{}\n", i, trace.arrivals[i].name,
        placed ? fmt::format("{},{}", trace.nodes[placed->node].name, fmt::join(placed->gpus, "-"))
               : ",");
  }
  return log;
}

std::string curve(const Outcome& outcome) {
  std::string rows = "order,arrived_percent,allocated_percent\n";
  for (std::size_t i = 0; i < outcome.steps.size(); ++i) {
    const Step& step = outcome.steps[i];
    rows += fmt::format(
        "{},{},{}\n", i, percent(hundredths_of_percent(step.arrived_milli, outcome.capacity_milli)),
        percent(hundredths_of_percent(step.allocated_milli, outcome.capacity_milli)));
  }
  return rows;
}

std::string summary_json(const Trace& trace, const Outcome& outcome, const RunLabel& label) {
  std::string text;
  json::Writer out(text);
  out.begin_object()
      .member("policy", label.policy)
      .member("via", label.via)
      .member("workload", trace.workload_origin)
      .member("arrivals", count(outcome.steps.size()))
      .member("placed", count(outcome.placed()))
      .member("dropped", count(outcome.steps.size() - outcome.placed()))
      .key("allocated_percent")
      .begin_object();
  for (const auto& [k, mean] : round_marks(outcome)) {
    out.key(std::to_string(k)).raw(rounded_percent(mean));
  }
  out.end_object()
      .member("seconds", std::round(outcome.seconds * 1000) / 1000)
      .member("valid", !outcome.violation.has_value());
  if (outcome.violation) out.member("violation", *outcome.violation);
  out.end_object();
  return text + "\n";
}

std::string summary_text(const Trace& trace, const Outcome& outcome, const RunLabel& label) {
  std::string text = fmt::format(
      "policy      {}, via {}\nworkload    {}\narrivals    {}, placed {}, not placed {}\n",
      label.policy, label.via, trace.workload_origin, outcome.steps.size(), outcome.placed(),
      outcome.steps.size() - outcome.placed());
  for (const auto& [k, mean] : round_marks(outcome)) {
    text += fmt::format("allocated   {} % at {} % arrived\n", rounded_percent(mean), k);
  }
  return text + fmt::format("placing     {:.1f} s\nrules       {}\n", outcome.seconds,
                            outcome.violation ? "BROKEN: " + *outcome.violation : "kept");
}

Result<void> write_file(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  if (!file) return fail(Errc::kUnavailable, "cannot write " + path);
  return {};
}

}  // namespace tangram::bench
