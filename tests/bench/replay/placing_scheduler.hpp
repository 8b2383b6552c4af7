#pragma once

#include "bench/replay/scheduler.hpp"

#include <memory>
#include <vector>

namespace tangram::bench {

/// A scheduler that only places; everything else is fine with it.
class PlacingScheduler : public Scheduler {
 public:
  Result<void> remove(PodNumber /*number*/) override { return {}; }
  Result<void> move(const std::vector<Move>& /*moves*/) override { return {}; }
  Result<void> set_health(std::size_t /*node*/, const std::vector<std::uint32_t>& /*gpus*/,
                          bool /*healthy*/) override {
    return {};
  }
  std::shared_ptr<const model::ClusterSnapshot> snapshot() override {
    return std::make_shared<const model::ClusterSnapshot>();
  }
};

}  // namespace tangram::bench
