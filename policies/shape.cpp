#include "policies/shape.hpp"

#include <boost/container_hash/hash.hpp>

namespace tangram::policies {

model::PodDemand shape_of(model::PodDemand demand) {
  demand.gpu.policy.clear();
  for (model::ContainerRequest& container : demand.gpu.containers) {
    container.container.clear();
    container.share.memory_limit.reset();
    container.share.compute_limit.reset();
    container.share.max_burst = 0;
  }
  return demand;
}

std::size_t ShapeHash::operator()(const model::PodDemand& shape) const {
  std::size_t seed = 0;
  boost::hash_combine(seed, shape.footprint.cpu.count());
  boost::hash_combine(seed, shape.footprint.memory.count());
  boost::hash_combine(seed, static_cast<int>(shape.gpu.isolation));
  boost::hash_combine(seed, static_cast<int>(shape.gpu.memory_limits));
  for (const std::string& model : shape.gpu.models) boost::hash_combine(seed, model);
  for (const std::string& id : shape.gpu.card_ids) boost::hash_combine(seed, id);
  for (const model::ContainerRequest& container : shape.gpu.containers) {
    boost::hash_combine(seed, container.count);
    boost::hash_combine(seed, static_cast<int>(container.share.form));
    boost::hash_combine(seed, static_cast<int>(container.share.resource));
    boost::hash_combine(seed, container.share.fraction.count());
    boost::hash_combine(seed, container.share.memory.count());
    boost::hash_combine(seed, container.share.compute.value_or(MilliGpu(-1)).count());
  }
  return seed;
}

}  // namespace tangram::policies
