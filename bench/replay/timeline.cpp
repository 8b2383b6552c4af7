#include "bench/replay/timeline.hpp"

#include <algorithm>

namespace tangram::bench {

namespace {

/// Calls apply(a, b) for every number of both.
template <class A, class B, class Apply>
void for_each_level(A& a, const B& b, const Apply& apply) {
  apply(a.allocated_milli, b.allocated_milli);
  apply(a.idle_cards, b.idle_cards);
  apply(a.running_pods, b.running_pods);
  for (std::size_t i = 0; i < kPodClasses; ++i) apply(a.waiting[i], b.waiting[i]);
}

}  // namespace

Timeline::Timeline(std::int64_t ends, std::size_t steps) : ends_(ends), steps_(steps) {}

std::int64_t Timeline::step_ends(std::size_t step) const {
  const auto steps = static_cast<std::int64_t>(steps_.size());
  return ends_ / steps * static_cast<std::int64_t>(step + 1) +
         ends_ % steps * static_cast<std::int64_t>(step + 1) / steps;
}

void Timeline::add(Sum& sum, const Levels<std::int64_t>& levels, std::int64_t time) {
  for_each_level(sum.levels, levels, [time](double& total, std::int64_t level) {
    total += static_cast<double>(level) * static_cast<double>(time);
  });
  sum.time += time;
}

Levels<double> Timeline::mean_of(const Sum& sum) {
  Levels<double> mean = sum.levels;
  const auto time = static_cast<double>(std::max<std::int64_t>(1, sum.time));
  for_each_level(mean, mean, [time](double& total, double /*same*/) { total /= time; });
  return mean;
}

void Timeline::pass(std::int64_t until, const Levels<std::int64_t>& levels) {
  until = std::min(until, ends_);
  if (until > std::max(now_, measured_from())) {
    add(measured_, levels, until - std::max(now_, measured_from()));
  }
  while (now_ < until) {
    const std::int64_t next = std::min(until, step_ends(step_));
    add(steps_[step_], levels, next - now_);
    now_ = next;
    if (now_ == step_ends(step_) && step_ + 1 < steps_.size()) ++step_;
  }
}

Levels<double> Timeline::mean() const { return mean_of(measured_); }

std::vector<Levels<double>> Timeline::series() const {
  std::vector<Levels<double>> series;
  for (const Sum& step : steps_) {
    if (step.time > 0) series.push_back(mean_of(step));
  }
  return series;
}

}  // namespace tangram::bench
