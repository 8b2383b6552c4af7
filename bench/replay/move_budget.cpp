#include "bench/replay/move_planner.hpp"

namespace tangram::bench {

std::size_t MoveBudget::left(std::int64_t now, std::size_t running) {
  constexpr std::int64_t kHourMs = 3'600'000;
  while (!spent_.empty() && spent_.front() <= now - kHourMs) spent_.pop_front();
  const auto allowed = static_cast<std::size_t>(percent_ * static_cast<double>(running) / 100);
  return allowed > spent_.size() ? allowed - spent_.size() : 0;
}

}  // namespace tangram::bench
