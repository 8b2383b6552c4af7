#include "cluster/idle.hpp"

#include "policies/fragmentation_measure.hpp"

namespace tangram::cluster {

Idle measure_idle(const model::ClusterSnapshot& cluster, const policies::Workload& workload) {
  const policies::FragmentationMeasure measure(workload);
  Idle sum;
  cluster.for_each([&](const model::NodeState& node) {
    sum.cards += node.cards().size();
    sum.idle += static_cast<double>(model::idle_compute(node).count());
    sum.fragmented += measure.fragmented_milli(node);
    sum.stray_grants += static_cast<std::size_t>(node.stray_grants);
    for (std::size_t i = 0; i < node.cards().size(); ++i) {
      const model::Card& card = node.cards()[i];
      if (model::over_granted(card, node.use[i])) ++sum.over_granted;
      if (model::free_compute(card, node.use[i]) == MilliGpu{}) {
        sum.stranded += model::free_memory(card, node.use[i]);
      }
    }
  });
  return sum;
}

}  // namespace tangram::cluster
