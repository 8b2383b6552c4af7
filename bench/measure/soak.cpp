#include "base/json.hpp"
#include "bench/measure/measure.hpp"
#include "bench/measure/memory.hpp"
#include "bench/measure/verb_bench.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <thread>
#include <vector>

namespace tangram::bench {

namespace {

using std::chrono::steady_clock;

/// What was measured in one part of the run.
struct Part {
  std::size_t pods = 0;
  int unplaced = 0;  ///< of the pods
  int refused = 0;   ///< their binds
  double filter_p50_ms = 0;
  double filter_p99_ms = 0;
  double null_p99_ms = 0;
  double bind_p99_ms = 0;
  double lag_p99_ms = 0;
  double lag_max_ms = 0;
  double rss_mib = 0;
};

Part part_of(const VerbBench& verbs) {
  const VerbTimes& filters = verbs.filter_times();
  return {.pods = filters.real.count(),
          .unplaced = verbs.unplaced(),
          .refused = verbs.refused(),
          .filter_p50_ms = millis(filters.real.percentile(50)),
          .filter_p99_ms = millis(filters.real.percentile(99)),
          .null_p99_ms = millis(filters.null.percentile(99)),
          .bind_p99_ms = millis(verbs.bind_times().real.percentile(99)),
          .lag_p99_ms = millis(verbs.watch_lag().percentile(99)),
          .lag_max_ms = millis(verbs.watch_lag().percentile(100)),
          .rss_mib = memory_mib("VmRSS:")};
}

/// Schedules pods at the run's pace until `end`. @param number  of the next pod
Result<void> schedule_until(steady_clock::time_point end, const SoakRun& run, VerbBench& verbs,
                            int& number) {
  const auto pause = std::chrono::nanoseconds(std::chrono::seconds(1)) / run.pods_per_second;
  for (auto next = steady_clock::now(); next < end; next += pause) {
    // A pod that took longer does not make the next ones come all at once.
    next = std::max(next, steady_clock::now());
    std::this_thread::sleep_until(next);
    if (auto done = verbs.round(number++, true); !done) return done.error();
  }
  return {};
}

double drift_of(const std::vector<Part>& parts, double Part::*figure) {
  std::vector<double> values(parts.size());
  std::transform(parts.begin(), parts.end(), values.begin(), std::mem_fn(figure));
  return drift(values);
}

std::string table(const std::vector<Part>& parts) {
  std::string text =
      "part  pods  unplaced  refused  filter p50 ms  p99 ms  null p99 ms  bind p99 ms  lag p99 ms  "
      "lag max ms  RSS MiB\n";
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const Part& part = parts[i];
    text += fmt::format(
        "{:>4} {:>5} {:>9} {:>8} {:>14.2f} {:>7.2f} {:>12.2f} {:>12.2f} {:>11.2f} {:>11.2f} "
        "{:>8.1f}\n",
        i + 1, part.pods, part.unplaced, part.refused, part.filter_p50_ms, part.filter_p99_ms,
        part.null_p99_ms, part.bind_p99_ms, part.lag_p99_ms, part.lag_max_ms, part.rss_mib);
  }
  return text;
}

std::string json_of(const std::vector<Part>& parts) {
  std::string text;
  json::Writer out(text);
  out.begin_array();
  for (const Part& part : parts) {
    out.begin_object().member("pods", static_cast<std::int64_t>(part.pods));
    out.member("unplaced", static_cast<std::int64_t>(part.unplaced));
    out.member("refused", static_cast<std::int64_t>(part.refused));
    out.member("filter_p50_ms", part.filter_p50_ms).member("filter_p99_ms", part.filter_p99_ms);
    out.member("null_p99_ms", part.null_p99_ms).member("bind_p99_ms", part.bind_p99_ms);
    out.member("lag_p99_ms", part.lag_p99_ms).member("lag_max_ms", part.lag_max_ms);
    out.member("rss_mib", part.rss_mib).end_object();
  }
  out.end_array();
  return text;
}

}  // namespace

Result<Report> measure(const SoakRun& run) {
  Side side;
  if (auto started = side.start(run.verbs); !started) return started.error();
  int number = 0;
  for (; number < run.verbs.shapes; ++number) {
    if (auto done = side.verbs->round(number, false); !done) return done.error();
  }
  const auto start = steady_clock::now();
  std::vector<Part> parts;
  for (int i = 1; i <= run.parts; ++i) {
    // Of each part alone, so that the measurement's own memory does not grow.
    VerbBench verbs(run.verbs, *side.app, side.baseline);
    const auto end =
        start + std::chrono::nanoseconds(std::chrono::seconds(run.seconds)) * i / run.parts;
    if (auto done = schedule_until(end, run, verbs, number); !done) return done.error();
    if (verbs.filter_times().real.count() > 0) parts.push_back(part_of(verbs));
  }
  if (parts.empty()) return fail(Errc::kInvalidArgument, "no pod came; give more seconds");
  const auto slowest =
      std::max_element(parts.begin(), parts.end(),
                       [](const Part& a, const Part& b) { return a.lag_max_ms < b.lag_max_ms; });
  Report report{.text = table(parts), .json = json_of(parts)};
  report.text += fmt::format(
      "last third beside the first: filter p99 {:.2f} times (baseline {:.2f}), bind p99 {:.2f}, "
      "RSS {:.3f}; longest watch lag {:.1f} ms\n",
      drift_of(parts, &Part::filter_p99_ms), drift_of(parts, &Part::null_p99_ms),
      drift_of(parts, &Part::bind_p99_ms), drift_of(parts, &Part::rss_mib), slowest->lag_max_ms);
  return report;
}

}  // namespace tangram::bench
