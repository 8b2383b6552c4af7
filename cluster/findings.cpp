#include "cluster/findings.hpp"

#include "base/quote.hpp"
#include "model/request.hpp"
#include "model/resizing.hpp"

#include <algorithm>
#include <utility>

namespace tangram::cluster {

namespace {

using model::Allocation;
using model::ContainerInfo;
using model::ContainerRequest;
using model::GrantedCard;
using model::NodeState;

constexpr std::string_view kPlaceAnew =
    "delete the pod and create it again, so that kube-scheduler and Tangram place it";

const ContainerInfo* container_of(const kube::Pod& pod, std::string_view name) {
  const auto found = std::find_if(pod.containers.begin(), pod.containers.end(),
                                  [&](const ContainerInfo& info) { return info.name == name; });
  return found == pod.containers.end() ? nullptr : &*found;
}

void look_at_slots(const kube::Pod& pod, std::vector<Note>& notes) {
  for (const ContainerInfo& info : pod.containers) {
    if (info.slots <= 1) continue;
    notes.push_back({Finding::kTooManySlots,
                     "container " + quote(info.name) + " has more than one " +
                         std::string(model::kSlotResource) +
                         "; write 1, and ask for several cards with tangram.dev/gpu-count"});
  }
}

void look_at_request(const kube::Pod& pod, const Result<PodPlan>& plan, std::vector<Note>& notes) {
  if (!plan) {
    notes.push_back({Finding::kRequestInvalid, plan.error().message});
    return;
  }
  for (const ContainerRequest& request : plan->demand.gpu.containers) {
    const ContainerInfo* info = container_of(pod, request.container);
    if (info == nullptr || info->slots > 0) continue;
    notes.push_back({Finding::kSlotMissing, slot_missing_sentence(pod, request.container)});
  }
}

bool suspicious(const NodeState& node) {
  bool over = false;
  for (std::size_t i = 0; i < node.use.size(); ++i) {
    over = over || over_granted(node.cards()[i], node.use[i]);
  }
  // A node without any card has lost its annotation, most likely; its agent writes it again.
  return node.present && !node.cards().empty() && (over || node.stray_grants > 0);
}

std::vector<Note> look_at_cards(const Allocation& allocation, const NodeState& node) {
  bool missing = false;
  bool over = false;
  for (const auto& container : allocation.containers) {
    for (const GrantedCard& granted : container.cards) {
      const auto index = node.card_index(granted.uuid);
      missing = missing || !index;
      over = over || (index && over_granted(node.cards()[*index], node.use[*index]));
    }
  }
  std::vector<Note> notes;
  if (missing) {
    notes.push_back({Finding::kCardMissing,
                     "the grant names a card that node " + node.name +
                         " does not list; while it is away, a container that does not run yet does "
                         "not start. If the card does not come back, " +
                         std::string(kPlaceAnew)});
  }
  if (over) {
    notes.push_back({Finding::kCardOverGranted,
                     "the grants on one of the pod's cards exceed the card, so the pod that was "
                     "bound last does not start; to have that one placed elsewhere, " +
                         std::string(kPlaceAnew)});
  }
  return notes;
}

void look_at_grant(const kube::Pod& pod, const Result<PodPlan>& plan, const Recorded& recorded,
                   std::vector<Note>& notes) {
  const bool granted = !recorded.allocation.containers.empty();
  const bool asks = plan && plan->demand.gpu.asks_gpu();
  if (!recorded.grant_problem.empty()) {
    notes.push_back({Finding::kGrantInvalid, "annotation " + std::string(model::kGrantAnnotation) +
                                                 " " + recorded.grant_problem +
                                                 ", so it grants nothing; " +
                                                 std::string(kPlaceAnew)});
  } else if (recorded.allocation.by_start && recorded.grant_key == model::kUnknownKey) {
    notes.push_back(
        {Finding::kGrantInvalid,
         "annotation " + std::string(model::kGrantAnnotation) +
             " is not signed by a key that counts here; the pod has started, so it keeps "
             "its cards until it ends; if no key was removed, the grant was changed: " +
             std::string(kPlaceAnew)});
  } else if (!granted && (asks || has_slots(pod))) {
    notes.push_back({Finding::kGrantMissing,
                     "the pod was bound without a grant, so no card is kept for it and none is "
                     "given to it; leave spec.nodeName out, and " +
                         std::string(kPlaceAnew)});
  } else if (granted && plan &&
             !model::same_shape(plan->demand.gpu, recorded.allocation.containers)) {
    notes.push_back({Finding::kGrantDiffers,
                     "the grant is for other containers or numbers of cards than the pod's "
                     "annotations ask for, or for whole cards, which cannot be changed; the grant "
                     "counts; to have something else, " +
                         std::string(kPlaceAnew)});
  }
}

}  // namespace

PodName name_of(const model::Allocation& pod) {
  return {.uid = pod.pod_uid, .ns = pod.pod_namespace, .name = pod.pod_name};
}

PodName name_of(const kube::Pod& pod) { return {.uid = pod.uid, .ns = pod.ns, .name = pod.name}; }

std::string_view to_string(Finding finding) {
  switch (finding) {
    case Finding::kRequestInvalid:
      return "RequestInvalid";
    case Finding::kSlotMissing:
      return "SlotMissing";
    case Finding::kTooManySlots:
      return "TooManySlots";
    case Finding::kGrantInvalid:
      return "GrantInvalid";
    case Finding::kGrantMissing:
      return "GrantMissing";
    case Finding::kGrantDiffers:
      return "GrantDiffers";
    case Finding::kCardMissing:
      return "CardMissing";
    case Finding::kCardOverGranted:
      return "CardOverGranted";
  }
  return "Unknown";
}

std::string slot_missing_sentence(const kube::Pod& pod, std::string_view container) {
  return "container " + quote(container) + " requests a GPU and has no slot, so " +
         (has_slots(pod) ? "it would start without a card"
                         : "kube-scheduler does not ask Tangram about the pod") +
         "; write " + std::string(model::kSlotResource) + ": 1 in its resources.limits";
}

std::vector<Note> examine(const kube::Pod& pod, const Result<PodPlan>& plan,
                          const Recorded& recorded) {
  std::vector<Note> notes;
  look_at_slots(pod, notes);
  if (pod.node.empty()) {
    look_at_request(pod, plan, notes);
  } else {
    look_at_grant(pod, plan, recorded, notes);
  }
  return notes;
}

NotedPods examine_cards(const model::ClusterSnapshot& cluster) {
  NotedPods pods;
  cluster.for_each([&](const NodeState& node) {
    if (!suspicious(node)) return;
    for (const model::AllocationPtr& allocation : node.allocations) {
      if (allocation->tentative) continue;
      auto notes = look_at_cards(*allocation, node);
      if (notes.empty()) continue;
      pods.emplace(allocation->pod_uid,
                   NotedPod{{allocation->pod_uid, allocation->pod_namespace, allocation->pod_name},
                            std::move(notes)});
    }
  });
  return pods;
}

}  // namespace tangram::cluster
