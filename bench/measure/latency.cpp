#include "bench/measure/latency.hpp"

#include "base/json.hpp"
#include "bench/median.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tangram::bench {

namespace {

double micros(std::chrono::nanoseconds time) { return static_cast<double>(time.count()) / 1000.0; }

double ratio(std::chrono::nanoseconds a, std::chrono::nanoseconds b) {
  return b.count() == 0 ? 0 : static_cast<double>(a.count()) / static_cast<double>(b.count());
}

}  // namespace

std::chrono::nanoseconds Latencies::percentile(int percent) const {
  if (took_.empty()) return {};
  std::vector<std::chrono::nanoseconds> sorted = took_;
  std::sort(sorted.begin(), sorted.end());
  const std::size_t rank = (sorted.size() * static_cast<std::size_t>(percent) + 99) / 100;
  return sorted[std::max<std::size_t>(rank, 1) - 1];
}

double VerbTimes::paired_ratio() const {
  std::vector<double> ratios(std::min(real.count(), null.count()));
  if (ratios.empty()) return 0;
  std::transform(real.all().begin(),
                 real.all().begin() + static_cast<std::ptrdiff_t>(ratios.size()),
                 null.all().begin(), ratios.begin(), ratio);
  const auto middle = ratios.begin() + static_cast<std::ptrdiff_t>((ratios.size() - 1) / 2);
  std::nth_element(ratios.begin(), middle, ratios.end());
  return *middle;
}

double drift(const std::vector<double>& values) {
  if (values.empty()) return 0;
  const auto third = static_cast<std::ptrdiff_t>(std::max<std::size_t>(values.size() / 3, 1));
  const double first = median({values.begin(), values.begin() + third});
  return first == 0 ? 0 : median({values.end() - third, values.end()}) / first;
}

std::string latency_table(const std::vector<VerbTimes>& verbs) {
  std::string table =
      "verb         requests    p50 us   null us   ratio  paired    p99 us   null us   ratio\n";
  for (const VerbTimes& verb : verbs) {
    const auto p50 = verb.real.percentile(50);
    const auto p99 = verb.real.percentile(99);
    const auto null50 = verb.null.percentile(50);
    const auto null99 = verb.null.percentile(99);
    table +=
        fmt::format("{:<12} {:>8} {:>9.1f} {:>9.1f} {:>7.2f} {:>7.2f} {:>9.1f} {:>9.1f} {:>7.2f}\n",
                    verb.verb, verb.real.count(), micros(p50), micros(null50), ratio(p50, null50),
                    verb.paired_ratio(), micros(p99), micros(null99), ratio(p99, null99));
  }
  return table;
}

std::string latency_json(const std::vector<VerbTimes>& verbs) {
  std::string text;
  json::Writer out(text);
  out.begin_array();
  for (const VerbTimes& verb : verbs) {
    out.begin_object().member("verb", verb.verb);
    out.member("requests", static_cast<std::int64_t>(verb.real.count()));
    out.member("paired_ratio", verb.paired_ratio());
    for (const int percent : {50, 99}) {
      const std::string p = "p" + std::to_string(percent);
      const auto real = verb.real.percentile(percent);
      const auto null = verb.null.percentile(percent);
      out.member(p + "_us", micros(real)).member("null_" + p + "_us", micros(null));
      out.member(p + "_ratio", ratio(real, null));
    }
    out.end_object();
  }
  out.end_array();
  return text;
}

}  // namespace tangram::bench
