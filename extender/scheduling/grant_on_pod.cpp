#include "extender/scheduling/grant_on_pod.hpp"

#include "model/annotations.hpp"
#include "model/grant.hpp"
#include "model/grant_reading.hpp"

namespace tangram::extender {

bool is_ours(const cluster::Recorded& recorded, const model::Ledger::Entry& entry) {
  const bool is_vouched = !recorded.allocation.by_start &&
                          (!entry.is_signed || model::is_known_key(recorded.grant_key));
  return is_vouched && recorded.issued_at == entry.issued_at &&
         cluster::same_cards(recorded.allocation, *entry.allocation);
}

int revision_on(const kube::Pod& pod) {
  const auto annotation = pod.annotations.find(model::kGrantKey);
  if (annotation == pod.annotations.end()) return -1;
  const auto grant = model::decode_grant(annotation->second);
  const bool is_its = grant && grant->pod_uid == pod.uid && grant->node == pod.node;
  return is_its ? grant->revision : -1;
}

}  // namespace tangram::extender
