#include "cluster/holdings.hpp"

#include <algorithm>
#include <utility>

namespace tangram::cluster {

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

/// A container with a slot runs only after the agent has looked at the pod's grant.
bool slot_has_run(const kube::Pod& pod) {
  return std::any_of(pod.ran.begin(), pod.ran.end(), [&](const std::string& name) {
    return std::any_of(pod.containers.begin(), pod.containers.end(),
                       [&](const auto& info) { return info.name == name && info.slots > 0; });
  });
}

model::SignatureCheck whoever_signed(const model::SignatureCheck& check) {
  return [&check](std::string_view text) {
    auto verdict = check(text);
    verdict.problem.clear();
    return verdict;
  };
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
  if (!reading.grant && check && slot_has_run(pod)) {
    reading = model::read_grant(annotation->second, pod.uid, pod.node, whoever_signed(check));
    recorded.by_start = reading.grant.has_value();
  }
  recorded.grant_problem = std::move(reading.problem);
  recorded.grant_key = std::move(reading.key);
  if (!reading.grant) return recorded;
  recorded.issued_at = std::move(reading.grant->issued_at);
  recorded.holding.isolation = reading.grant->isolation;
  recorded.holding.containers = std::move(reading.grant->containers);
  recorded.holding.labels = pod.labels;
  return recorded;
}

}  // namespace tangram::cluster
