#include "policies/arrival_log.hpp"

#include <algorithm>

namespace tangram::policies {

bool ArrivalLog::add(DemandPtr demand) {
  latest_.push_back(std::move(demand));
  if (latest_.size() > limits_.window_pods) latest_.pop_front();
  if (++arrivals_ < next_relearn_) return false;
  next_relearn_ += std::min(next_relearn_, limits_.relearn_every);
  return true;
}

void ArrivalWindow::add(Arrivals latest) {
  for (DemandPtr& demand : latest) pods_.push_back(std::move(demand));
  while (pods_.size() > limits_.window_pods) pods_.pop_front();
}

WorkloadCounter ArrivalWindow::count() const {
  WorkloadCounter counter;
  for (const DemandPtr& demand : pods_) counter.add(*demand);
  return counter;
}

}  // namespace tangram::policies
