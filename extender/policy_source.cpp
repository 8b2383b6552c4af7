#include "extender/policy_source.hpp"

namespace tangram::extender {

namespace {

std::string unknown_policy(std::string_view name) {
  std::string message = "annotation tangram.dev/gpu-policy: there is no policy \"" +
                        std::string(name) + "\"; write one of";
  for (const std::string_view known : policies::policy_names()) {
    message += ' ';
    message += known;
  }
  return message;
}

}  // namespace

PolicySource::PolicySource(PolicySettings settings)
    : settings_(std::move(settings)),
      in_force_(std::make_shared<const PoliciesInForce>(settings_.options)) {}

Result<PodPlan> PolicySource::plan(const kube::Pod& pod) const {
  auto request = model::parse_request(pod.annotations, pod.containers, settings_.default_isolation);
  if (!request) return request.error();
  PodPlan plan{.demand = {.gpu = std::move(*request), .footprint = pod.footprint},
               .policies = in_force_.load()};
  const std::string& wanted = plan.demand.gpu.policy;
  plan.policy = plan.policies->set.find(wanted.empty() ? settings_.default_policy : wanted);
  if (plan.policy == nullptr) return fail(Errc::kInvalidArgument, unknown_policy(wanted));
  return plan;
}

void PolicySource::arrived(const kube::Pod& pod) {
  if (!settings_.learn_workload) return;
  auto request = model::parse_request(pod.annotations, pod.containers, settings_.default_isolation);
  if (!request) return;
  const std::scoped_lock lock(learning_);
  window_.push_back({.gpu = std::move(*request), .footprint = pod.footprint});
  if (window_.size() > settings_.window_pods) window_.pop_front();
  if (++arrivals_ < next_relearn_) return;
  relearn();
  next_relearn_ += std::min(next_relearn_, settings_.relearn_every);
}

std::shared_ptr<const policies::Workload> PolicySource::workload() const {
  return in_force_.load()->workload;
}

void PolicySource::relearn() {
  policies::WorkloadCounter counter;
  for (const model::PodDemand& demand : window_) counter.add(demand);
  policies::PolicyOptions options = settings_.options;
  options.workload =
      std::make_shared<const policies::Workload>(counter.top(settings_.coverage_percent));
  in_force_.store(std::make_shared<const PoliciesInForce>(options));
}

}  // namespace tangram::extender
