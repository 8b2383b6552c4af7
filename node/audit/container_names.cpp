#include "node/audit/container_names.hpp"

#include <utility>

namespace tangram::node {
namespace {

// A call takes milliseconds, but up to 5 s if the runtime hangs.
constexpr std::chrono::seconds kBetweenQuestions{10};

}  // namespace

void ContainerNames::update(const std::set<ProcessPlace>& places) {
  std::set<std::string> ids;
  std::set<std::string> pods;  // with a container that is not known
  for (const ProcessPlace& place : places) {
    ids.insert(place.container_id);
    if (!place.container_id.empty() && !known_.contains(place.container_id)) {
      pods.insert(place.pod_uid);
    }
  }
  std::erase_if(known_, [&](const auto& one) { return !ids.contains(one.first); });
  std::erase_if(again_, [&](const auto& one) { return !pods.contains(one.first); });
  if (runtime_ == nullptr) return;
  for (const std::string& pod : pods) {
    const TimePoint now = clock_.now();
    if (now < silent_until_) return;
    const auto again = again_.find(pod);
    if (again == again_.end() || now >= again->second) ask(pod, places);
  }
}

void ContainerNames::ask(const std::string& pod_uid, const std::set<ProcessPlace>& places) {
  const auto running = runtime_->list_of(pod_uid);
  const TimePoint later = clock_.now() + kBetweenQuestions;
  again_[pod_uid] = later;
  if (!running) {
    if (running.error().code == Errc::kUnavailable) silent_until_ = later;
    return;
  }
  for (const RuntimeContainer& container : *running) {
    if (places.contains({pod_uid, container.id})) known_[container.id] = container.container;
  }
}

}  // namespace tangram::node
