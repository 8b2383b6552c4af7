#include "cluster/allocations.hpp"

#include <algorithm>
#include <utility>

namespace tangram::cluster {

namespace {

model::Allocation bare_allocation(const kube::Pod& pod, std::string_view node) {
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

model::SharedLabels kept_labels(const kube::Pod& pod) {
  return pod.labels.size() <= kMaxLabels ? pod.labels : model::Labels();
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

model::Allocation allocation_for(const kube::Pod& pod, const model::NodeState& node,
                                 const model::PodDemand& demand,
                                 const model::Placement& placement) {
  model::Allocation allocation = bare_allocation(pod, node.name);
  if (!demand.gpu.asks_gpu()) return allocation;
  allocation.isolation = mode_of(demand.gpu, node, placement);
  allocation.containers = grants_of(demand.gpu, node, placement);
  allocation.labels = kept_labels(pod);
  allocation.max_burst = max_burst_of(demand.gpu);
  return allocation;
}

model::Allocation allocation_without_cards(const kube::Pod& pod, std::string_view node) {
  return bare_allocation(pod, node);
}

Recorded recorded_allocation(const kube::Pod& pod, const model::SignatureCheck& check) {
  Recorded recorded{.allocation = bare_allocation(pod, pod.node)};
  const auto annotation = pod.annotations.find(model::kGrantKey);
  if (annotation == pod.annotations.end()) return recorded;
  auto reading = model::read_grant(annotation->second, pod.uid, pod.node, check);
  if (!reading.grant && check && slot_has_run(pod)) {
    reading = model::read_grant(annotation->second, pod.uid, pod.node, whoever_signed(check));
    recorded.allocation.by_start = reading.grant.has_value();
  }
  recorded.grant_problem = std::move(reading.problem);
  recorded.grant_key = std::move(reading.key);
  if (!reading.grant) return recorded;
  recorded.issued_at = std::move(reading.grant->issued_at);
  recorded.allocation.isolation = reading.grant->isolation;
  recorded.allocation.revision = reading.grant->revision;
  recorded.allocation.former_refused = reading.grant->former_refused;
  recorded.allocation.max_burst = reading.grant->max_burst;
  recorded.allocation.containers = std::move(reading.grant->containers);
  recorded.allocation.labels = kept_labels(pod);
  return recorded;
}

bool same_cards(const model::Allocation& a, const model::Allocation& b) {
  return a.isolation == b.isolation && model::same_cards(a.containers, b.containers);
}

bool same_revision(const model::Allocation& a, const model::Allocation& b) {
  const auto same_amounts = [](const model::ContainerGrant& one, const model::ContainerGrant& two) {
    return std::ranges::equal(one.cards, two.cards, {}, &model::GrantedCard::amounts,
                              &model::GrantedCard::amounts);
  };
  return a.revision == b.revision && same_cards(a, b) &&
         std::ranges::equal(a.containers, b.containers, same_amounts);
}

}  // namespace tangram::cluster
