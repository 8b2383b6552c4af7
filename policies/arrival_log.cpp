#include "policies/arrival_log.hpp"

#include <algorithm>

namespace tangram::policies {

bool ArrivalLog::add(DemandPtr demand) {
  window_.push_back(std::move(demand));
  if (window_.size() > limits_.window_pods) window_.pop_front();
  if (++arrivals_ < next_relearn_) return false;
  next_relearn_ += std::min(next_relearn_, limits_.relearn_every);
  return true;
}

WorkloadCounter count(const std::vector<DemandPtr>& pods) {
  WorkloadCounter counter;
  for (const DemandPtr& demand : pods) counter.add(*demand);
  return counter;
}

}  // namespace tangram::policies
