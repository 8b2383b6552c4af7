#include "extender/holdings.hpp"

#include <utility>

namespace tangram::extender {

namespace {

model::Holding bare_holding(const kube::Pod& pod, std::string_view node) {
  return {.pod_uid = pod.uid,
          .pod_namespace = pod.ns,
          .pod_name = pod.name,
          .node = std::string(node),
          .footprint = pod.footprint,
          .priority = pod.priority,
          .isolation = model::Isolation::kNone,
          .containers = {},
          .terminating = pod.deleting};
}

}  // namespace

model::Holding holding_for(const kube::Pod& pod, std::string_view node,
                           const model::PodDemand& demand,
                           std::vector<model::ContainerGrant> containers) {
  model::Holding holding = bare_holding(pod, node);
  if (demand.gpu.asks_gpu()) holding.isolation = demand.gpu.isolation;
  holding.containers = std::move(containers);
  if (!holding.containers.empty()) holding.labels = pod.labels;
  return holding;
}

Recorded recorded_holding(const kube::Pod& pod, const model::SignatureCheck& check) {
  Recorded recorded{.holding = bare_holding(pod, pod.node)};
  const auto annotation = pod.annotations.find(model::kGrantKey);
  if (annotation == pod.annotations.end()) return recorded;
  auto reading = model::read_grant(annotation->second, pod.uid, pod.node, check);
  recorded.grant_problem = std::move(reading.problem);
  recorded.grant_key = std::move(reading.key);
  if (!reading.grant) return recorded;
  recorded.issued_at = std::move(reading.grant->issued_at);
  recorded.holding.isolation = reading.grant->isolation;
  recorded.holding.containers = std::move(reading.grant->containers);
  recorded.holding.labels = pod.labels;
  return recorded;
}

}  // namespace tangram::extender
