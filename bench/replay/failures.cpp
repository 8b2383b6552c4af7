#include "bench/replay/failures.hpp"

#include "bench/replay/random.hpp"

#include <algorithm>
#include <cmath>

namespace tangram::bench {

namespace {

constexpr double kDayMs = 86'400'000;
constexpr std::int64_t kMinuteMs = 60'000;
constexpr std::uint64_t kCardStream = 0x165667b19e3779f9;
constexpr std::uint64_t kNodeStream = 0x27d4eb2f165667c5;

/// @param what  what may break, without times
void add_failures(std::vector<Failure>& failures, const std::vector<Failure>& what, int mean_days,
                  std::int64_t repair, std::int64_t until, std::uint64_t seed) {
  if (mean_days == 0 || what.empty()) return;
  std::mt19937_64 random(seed);
  const double gap = mean_days * kDayMs / static_cast<double>(what.size());
  for (double now = exponential(random, gap); now < static_cast<double>(until);
       now += exponential(random, gap)) {
    Failure failure = what[random() % what.size()];
    failure.at = std::llround(now);
    failure.repaired_at = failure.at + repair;
    failures.push_back(failure);
  }
}

}  // namespace

std::vector<Failure> failures_of(const Trace& trace, const FailureOptions& options,
                                 std::int64_t until) {
  std::vector<Failure> nodes;
  std::vector<Failure> cards;
  for (std::size_t node = 0; node < trace.nodes.size(); ++node) {
    nodes.push_back({.node = node, .gpu = {}});
    for (int gpu = 0; gpu < trace.nodes[node].gpus; ++gpu) {
      cards.push_back({.node = node, .gpu = static_cast<std::uint32_t>(gpu)});
    }
  }
  const std::int64_t repair = options.repair_minutes * kMinuteMs;
  std::vector<Failure> failures;
  add_failures(failures, cards, options.card_days, repair, until, options.seed ^ kCardStream);
  add_failures(failures, nodes, options.node_days, repair, until, options.seed ^ kNodeStream);
  std::stable_sort(failures.begin(), failures.end(),
                   [](const Failure& a, const Failure& b) { return a.at < b.at; });
  return failures;
}

}  // namespace tangram::bench
