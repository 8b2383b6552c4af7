#include "extender/broken_card_pods.hpp"

#include "cluster/broken_cards.hpp"
#include "cluster/movable.hpp"
#include "kube/client.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

namespace tangram::extender {

std::vector<EvictionCase> BrokenCardPods::look(const model::ClusterSnapshot& cluster,
                                               bool may_read) {
  std::vector<EvictionCase> cases;
  std::set<std::string, std::less<>> uids;
  std::size_t reads = 0;
  for (cluster::PodOnBrokenCard& pod : cluster::pods_on_broken_cards(cluster)) {
    uids.insert(pod.pod.uid);
    const auto found = known_.find(pod.pod.uid);
    const Known* known = found == known_.end() ? nullptr : &found->second;
    const bool reads_now =
        known == nullptr && may_read && reads < kMostReads && parts_.clock.now() >= next_read_;
    if (reads_now) {
      ++reads;
      known = read(pod.pod);
    }
    cases.push_back(
        {.pod = std::move(pod.pod),
         .controller = known == nullptr ? std::nullopt : std::optional(known->controller),
         .why = std::move(pod.why),
         .at_once = pod.draining});
  }
  std::erase_if(known_, [&](const auto& one) { return !uids.contains(one.first); });
  return cases;
}

const BrokenCardPods::Known* BrokenCardPods::read(const cluster::PodName& pod) {
  auto object = kube::read_pod(parts_.api, pod.ns, pod.name, parts_.api_timeout);
  if (!object) {
    if (object.error().code == Errc::kNotFound) return nullptr;  // the watch shows it soon
    next_read_ = parts_.clock.now() + kUntilNextRead;
    spdlog::warn("a pod on a broken card stays for now: {}", object.error().message);
    return nullptr;
  }
  if (object->uid != pod.uid) return nullptr;  // the watch shows soon that it is gone
  Known known{.controller = object->controller, .next = std::nullopt};
  auto plan = parts_.policies.plan(*object);
  if (plan) known.next = {cluster::waiting_pod(*std::move(object)), *std::move(plan)};
  return &known_.insert_or_assign(pod.uid, std::move(known)).first->second;
}

std::string BrokenCardPods::obstacle(const EvictionCase& one,
                                     const model::ClusterSnapshot& cluster) {
  const auto known = known_.find(one.pod.uid);
  if (known == known_.end()) return "it stays until it can be read again";
  if (!known->second.next) {
    known_.erase(known);  // to be read again
    return "it stays, because its annotations are not valid any more, so that the next pod would "
           "not be placed: correct them";
  }
  if (cluster::has_waiting_pod(known->second.controller, one.pod.ns, parts_.pods)) {
    return "it stays for now, because another pod of its controller waits for a node";
  }
  const TimePoint now = parts_.clock.now();
  std::erase_if(claims_, [&](const Claim& claim) { return claim.until <= now; });
  std::vector<cluster::PlacelessPod> pods;
  pods.reserve(claims_.size() + 1);
  for (const Claim& claim : claims_) pods.push_back(claim.next);
  pods.push_back(*known->second.next);
  model::SearchBudget budget(kSteps);
  if (cluster::all_find_places(pods, cluster, budget)) return "";
  return "it stays for now, because no other card has room for the pod that would replace it";
}

void BrokenCardPods::evicted(const EvictionCase& one) {
  const auto known = known_.find(one.pod.uid);
  if (known == known_.end() || !known->second.next) return;
  claims_.push_back({*known->second.next, parts_.clock.now() + kUntilPlaced});
}

}  // namespace tangram::extender
