#include "node/pods/kept_pods.hpp"

#include <memory>
#include <utility>

namespace tangram::node {

bool KeptPods::Ranked::operator<(const Ranked& other) const {
  return weight != other.weight ? weight > other.weight : pod->pod.uid < other.pod->pod.uid;
}

std::vector<LocalPodPtr> KeptPods::put(LocalPodPtr pod) {
  insert(std::move(pod));
  std::vector<LocalPodPtr> left_out;
  while (weight_ > most_ && !pods_.empty()) {
    const auto [weight, heaviest] = *heaviest_first_.begin();
    const LocalPodPtr before = find(heaviest->pod.uid);
    erase(before->pod.uid);
    auto outline = std::make_shared<const LocalPod>(outline_of(*before));
    if (weight_of(*outline) < weight) {
      insert(std::move(outline));
    } else {
      has_outlines_ = false;
    }
    left_out.push_back(before);
    complete_ = false;
  }
  return left_out;
}

void KeptPods::insert(LocalPodPtr pod) {
  erase(pod->pod.uid);
  const std::size_t weight = weight_of(*pod);
  weight_ += weight;
  heaviest_first_.insert({weight, pod.get()});
  std::string uid = pod->pod.uid;
  pods_.emplace(std::move(uid), std::move(pod));
}

void KeptPods::erase(std::string_view uid) {
  const auto found = pods_.find(uid);
  if (found == pods_.end()) return;
  const std::size_t weight = weight_of(*found->second);
  weight_ -= weight;
  heaviest_first_.erase({weight, found->second.get()});
  pods_.erase(found);
}

void KeptPods::clear() { *this = KeptPods(most_); }

LocalPodPtr KeptPods::find(std::string_view uid) const {
  const auto found = pods_.find(uid);
  return found == pods_.end() ? nullptr : found->second;
}

}  // namespace tangram::node
