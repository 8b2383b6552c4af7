#include "extender/scheduling/waiting_pods.hpp"

#include "base/metric_family.hpp"

namespace tangram::extender {

std::string_view to_string(Wait wait) {
  constexpr std::array<std::string_view, kWaits> kNames{
      "not_asked",   "invalid",        "offered", "settling", "no_such_card",
      "unavailable", "isolation_busy", "sharers", "room"};
  return kNames.at(static_cast<std::size_t>(wait));
}

Wait wait_for(model::Misfit nearest) {
  using model::Misfit;
  switch (nearest) {
    case Misfit::kUnknownNode:
    case Misfit::kNoCards:
    case Misfit::kModel:
    case Misfit::kCardId:
    case Misfit::kIsolationUnsupported:
    case Misfit::kTooLarge:
      return Wait::kNoSuchCard;
    case Misfit::kUnavailable:
      return Wait::kUnavailable;
    case Misfit::kIsolationBusy:
      return Wait::kIsolationBusy;
    case Misfit::kSharers:
      return Wait::kSharers;
    case Misfit::kRoom:
    case Misfit::kTogether:
      break;
  }
  return Wait::kRoom;
}

void WaitingPods::seen(const kube::Pod& pod, const Result<cluster::PodPlan>& plan) {
  if (!pod.node.empty() || (plan && !plan->demand.gpu.asks_gpu())) return forget(pod.uid);
  const std::scoped_lock lock(mutex_);
  Waiting& waiting = pods_[pod.uid];
  waiting.shown = true;
  if (!plan) {
    waiting.wait = Wait::kInvalid;
  } else if (waiting.wait == Wait::kInvalid) {
    waiting.wait = Wait::kNotAsked;
  }
}

void WaitingPods::answered(std::string_view pod_uid, Wait wait) {
  const std::scoped_lock lock(mutex_);
  pods_[std::string(pod_uid)].wait = wait;
}

void WaitingPods::forget(std::string_view pod_uid) {
  const std::scoped_lock lock(mutex_);
  if (const auto known = pods_.find(pod_uid); known != pods_.end()) pods_.erase(known);
}

void WaitingPods::forget_unseen() {
  const std::scoped_lock lock(mutex_);
  std::erase_if(pods_, [](const auto& entry) { return !entry.second.shown; });
}

std::map<Wait, std::size_t> WaitingPods::counts() const {
  std::map<Wait, std::size_t> counts;
  for (const Wait wait : kAllWaits) counts[wait] = 0;
  const std::scoped_lock lock(mutex_);
  for (const auto& [uid, waiting] : pods_) ++counts[waiting.wait];
  return counts;
}

std::vector<prometheus::MetricFamily> WaitingPods::Collect() const {
  MetricFamilies all;
  auto family = MetricFamily::gauge(
      "tangram_waiting_pods",
      "Pods that ask for a GPU and have no node, by what kube-scheduler was last told of "
      "each; the leader alone is asked.");
  for (const auto& [wait, pods] : counts()) {
    family.add({{"reason", std::string(to_string(wait))}}, pods);
  }
  family.into(all);
  return all;
}

}  // namespace tangram::extender
