#include "bench/replay/simulation_report.hpp"

#include "base/json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace tangram::bench {

namespace {

constexpr double kHourMs = 3'600'000;

double percent_of(double part, std::int64_t whole) {
  return whole == 0 ? 0 : 100 * part / static_cast<double>(whole);
}

double waiting_pods(const Levels<double>& levels) {
  return std::accumulate(levels.waiting.begin(), levels.waiting.end(), 0.0);
}

std::string class_line(std::string_view name, const ClassOutcome& outcome) {
  return fmt::format("{:<12}{:>8}{:>10.1f}{:>10.1f}{:>10.1f}{:>10.1f}{:>9}{:>7}{:>10}\n", name,
                     outcome.wait.pods, outcome.wait.mean, outcome.wait.p50, outcome.wait.p99,
                     outcome.mean_overhead_s, outcome.evicted, outcome.moved, outcome.never_placed);
}

std::string class_table(const SimulationOutcome& outcome) {
  std::string text =
      fmt::format("{:<12}{:>8}{:>10}{:>10}{:>10}{:>10}{:>9}{:>7}{:>10}\n", "class", "pods",
                  "mean s", "p50 s", "p99 s", "restart s", "evicted", "moved", "no place");
  for (std::size_t i = 0; i < kPodClasses; ++i) {
    if (outcome.classes[i].wait.pods == 0) continue;
    text += class_line(kPodClassNames[i], outcome.classes[i]);
  }
  return text + class_line("all", outcome.all);
}

/// Two decimals: more are not meant.
class Numbers {
 public:
  explicit Numbers(json::Writer& out) : out_(out) {}
  Numbers& add(std::string_view name, double value) {
    out_.key(name).raw(fmt::format("{:.2f}", value));
    return *this;
  }
  Numbers& add(std::string_view name, std::size_t value) {
    out_.member(name, static_cast<std::int64_t>(value));
    return *this;
  }

 private:
  json::Writer& out_;
};

void write_class(json::Writer& out, const ClassOutcome& outcome) {
  out.begin_object();
  Numbers(out)
      .add("pods", outcome.wait.pods)
      .add("mean_wait_seconds", outcome.wait.mean)
      .add("p50_wait_seconds", outcome.wait.p50)
      .add("p99_wait_seconds", outcome.wait.p99)
      .add("mean_restart_seconds", outcome.mean_overhead_s)
      .add("evicted", outcome.evicted)
      .add("moved", outcome.moved)
      .add("never_placed", outcome.never_placed);
  out.end_object();
}

void write_series(json::Writer& out, const SimulationOutcome& outcome) {
  out.key("series").begin_array();
  const auto steps = static_cast<double>(outcome.series.size());
  double step = 0;
  for (const Levels<double>& levels : outcome.series) {
    out.begin_object();
    Numbers(out)
        .add("until_hours", ++step / steps * static_cast<double>(outcome.ends) / kHourMs)
        .add("allocated_percent", percent_of(levels.allocated_milli, outcome.capacity_milli))
        .add("idle_cards", levels.idle_cards)
        .add("waiting_pods", waiting_pods(levels));
    out.end_object();
  }
  out.end_array();
}

void write_totals(json::Writer& out, const SimulationOutcome& outcome) {
  Numbers(out)
      .add("hours", static_cast<double>(outcome.ends) / kHourMs)
      .add("allocated_percent", percent_of(outcome.mean.allocated_milli, outcome.capacity_milli))
      .add("idle_cards", outcome.mean.idle_cards)
      .add("running_pods", outcome.mean.running_pods)
      .add("waiting_pods", waiting_pods(outcome.mean))
      .add("mean_wait_seconds", outcome.all.wait.mean)
      .add("arrived", outcome.arrived)
      .add("ended", outcome.ended)
      .add("running", outcome.running)
      .add("waiting", outcome.waiting)
      .add("never_placed", outcome.all.never_placed)
      .add("preempted", outcome.preempted)
      .add("evicted_by_failures", outcome.failed)
      .add("moves", outcome.moves)
      .add("moved_for", outcome.moved_for);
}

}  // namespace

std::string simulation_text(const SimulationRun& run) {
  const SimulationOutcome& outcome = run.outcome;
  const double hours = static_cast<double>(outcome.ends) / kHourMs;
  return fmt::format(
      "policy      {}, via {}\n"
      "time        {:.1f} h, measured from {:.1f} h on\n"
      "allocated   {:.2f} % of GPU time; {:.1f} of {} cards idle on average\n"
      "pods        {} arrived, {} ended, {} run, {} wait\n"
      "waiting     {:.2f} pods on average\n"
      "evictions   {} for urgent pods, {} by failures\n"
      "moves       {}, for {} waiting pods\n"
      "{}"
      "computing   {:.2f} s for placing, {:.2f} s for planning moves\n"
      "rules       {}\n",
      run.policy, run.via, hours, hours / 4,
      percent_of(outcome.mean.allocated_milli, outcome.capacity_milli), outcome.mean.idle_cards,
      outcome.cards, outcome.arrived, outcome.ended, outcome.running, outcome.waiting,
      waiting_pods(outcome.mean), outcome.preempted, outcome.failed, outcome.moves,
      outcome.moved_for, class_table(outcome), outcome.placing_seconds, outcome.planning_seconds,
      outcome.violation ? "BROKEN: " + *outcome.violation : "kept");
}

std::string simulation_json(const SimulationRun& run) {
  const SimulationOutcome& outcome = run.outcome;
  std::string text;
  json::Writer out(text);
  out.begin_object().member("policy", run.policy).member("via", run.via);
  write_totals(out, outcome);
  out.key("classes").begin_object();
  for (std::size_t i = 0; i < kPodClasses; ++i) {
    out.key(kPodClassNames[i]);
    write_class(out, outcome.classes[i]);
  }
  out.end_object();
  write_series(out, outcome);
  out.member("valid", !outcome.violation.has_value());
  if (outcome.violation) out.member("violation", *outcome.violation);
  out.end_object();
  return text + "\n";
}

WorstChange worst_change(const SimulationOutcome& outcome, const SimulationOutcome& base) {
  constexpr double kNoise = 1;
  std::optional<WorstChange> worst;
  for (std::size_t i = 0; i < kPodClasses; ++i) {
    if (base.classes[i].wait.pods == 0 || outcome.classes[i].wait.pods == 0) continue;
    const double before = base.classes[i].wait.mean;
    const double after = outcome.classes[i].wait.mean;
    const double percent = 100 * (std::max(after, kNoise) / std::max(before, kNoise) - 1);
    if (worst && worst->percent >= percent) continue;
    worst = {static_cast<PodClass>(i), percent, after - before};
  }
  return worst.value_or(WorstChange{});
}

std::string comparison_text(const std::vector<SimulationRun>& runs) {
  const auto wait_of = [](const SimulationOutcome& outcome, PodClass which) {
    return outcome.classes[static_cast<std::size_t>(which)].wait.mean;
  };
  std::string text =
      fmt::format("{:<24}{:>11}{:>7}{:>9}{:>9}{:>9}{:>7}{:>9}  {}\n", "policy", "allocated %",
                  "idle", "whole s", "multi s", "all s", "moves", "evicted", "worst class");
  for (const SimulationRun& run : runs) {
    const SimulationOutcome& outcome = run.outcome;
    const WorstChange worst = worst_change(outcome, runs.front().outcome);
    text += fmt::format(
        "{:<24}{:>11.2f}{:>7.1f}{:>9.1f}{:>9.1f}{:>9.1f}{:>7}{:>9}  {} {:+.1f} %, "
        "{:+.1f} s\n",
        run.policy, percent_of(outcome.mean.allocated_milli, outcome.capacity_milli),
        outcome.mean.idle_cards, wait_of(outcome, PodClass::kWholeCard),
        wait_of(outcome, PodClass::kMultiCard), outcome.all.wait.mean, outcome.moves,
        outcome.preempted + outcome.failed, kPodClassNames[static_cast<std::size_t>(worst.which)],
        worst.percent, worst.seconds);
  }
  return text;
}

}  // namespace tangram::bench
