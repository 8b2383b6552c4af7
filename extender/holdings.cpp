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

Recorded recorded_holding(const kube::Pod& pod) {
  Recorded recorded{.holding = bare_holding(pod, pod.node), .grant_problem = {}, .issued_at = {}};
  const auto annotation = pod.annotations.find(kGrantKey);
  if (annotation == pod.annotations.end()) return recorded;
  auto grant = model::decode_grant(annotation->second);
  if (!grant) {
    recorded.grant_problem = "is not valid: " + grant.error().message;
  } else if (grant->pod_uid != pod.uid) {
    recorded.grant_problem = "was issued to another pod";
  } else if (grant->node != pod.node) {
    recorded.grant_problem = "was issued for another node";
  } else {
    recorded.issued_at = std::move(grant->issued_at);
    recorded.holding.isolation = grant->isolation;
    recorded.holding.containers = std::move(grant->containers);
    recorded.holding.labels = pod.labels;
  }
  return recorded;
}

}  // namespace tangram::extender
