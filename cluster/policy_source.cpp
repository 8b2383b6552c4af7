#include "cluster/policy_source.hpp"

namespace tangram::cluster {

namespace {

/// Searches for one shape, in steps: as much as one filter makes. What is left, filters do.
constexpr std::int64_t kScoreSteps = 200'000;

}  // namespace

PolicySource::PolicySource(PolicySettings settings, ClusterNow cluster)
    : settings_(std::move(settings)),
      cluster_(std::move(cluster)),
      in_force_(std::make_shared<const PoliciesInForce>(settings_.options)),
      window_(settings_.learning),
      arrivals_(settings_.learning) {}

Result<PodPlan> PolicySource::plan(const kube::Pod& pod) const {
  const auto parse = pod.node.empty() ? model::parse_request : model::parse_running_request;
  auto request = parse(pod.annotations, pod.containers, settings_.requests);
  if (!request) return request.error();
  PodPlan plan{.demand = {.gpu = std::move(*request), .footprint = pod.footprint},
               .policies = in_force_.load()};
  const std::string& wanted = plan.demand.gpu.policy;
  plan.policy = plan.policies->set.find(wanted.empty() ? settings_.default_policy : wanted);
  if (plan.policy == nullptr)
    return fail(Errc::kInvalidArgument, "annotation " + model::full_name(model::kPolicyKey) + ": " +
                                            policies::no_such_policy(wanted));
  return plan;
}

void PolicySource::arrived(const kube::Pod& /*pod*/, const Result<PodPlan>& plan) {
  if (!plan) return;
  auto demand = std::make_shared<const model::PodDemand>(plan->demand);
  const std::scoped_lock lock(learning_);
  due_ = arrivals_.add(std::move(demand)) || due_;
  learn_at_once();
}

void PolicySource::listing(bool begins) {
  const std::scoped_lock lock(learning_);
  listing_ = begins;
  learn_at_once();
}

void PolicySource::keep_learning(const std::stop_token& stop) {
  std::unique_lock lock(learning_);
  while (time_has_come_.wait(lock, stop, [this] { return time_to_learn(); })) {
    policies::Arrivals latest = take_due();
    lock.unlock();
    learn(std::move(latest));
    lock.lock();
  }
}

std::shared_ptr<const policies::Workload> PolicySource::workload() const {
  return in_force_.load()->workload;
}

std::shared_ptr<const policies::Prices> PolicySource::prices() const {
  return in_force_.load()->prices;
}

policies::Arrivals PolicySource::take_due() {
  due_ = false;
  return arrivals_.take();
}

void PolicySource::learn_at_once() {
  if (!time_to_learn()) return;
  if (settings_.learn_at_once) {
    learn(take_due());
  } else {
    time_has_come_.notify_one();
  }
}

void PolicySource::learn(policies::Arrivals latest) {
  window_.add(std::move(latest));
  const policies::WorkloadCounter counter = window_.count();
  const auto now = in_force_.load();
  policies::PolicyOptions options = settings_.options;
  options.workload = now->workload;
  options.prices = now->prices;
  if (settings_.learn_workload) {
    auto workload = counter.top(settings_.coverage_percent);
    if (policies::distance_percent(workload, *now->workload) >= kSameWorkload) {
      options.workload = std::make_shared<const policies::Workload>(std::move(workload));
    }
  }
  if (cluster_) {
    auto prices = policies::learn_prices(counter.top(policies::kAllPods), *cluster_());
    if (!policies::nearly_equal(prices, *now->prices)) {
      options.prices = std::make_shared<const policies::Prices>(std::move(prices));
    }
  }
  if (options.workload == now->workload && options.prices == now->prices) return;
  const auto next = std::make_shared<const PoliciesInForce>(options);
  score_anew(*now, *next);
  in_force_.store(next);
}

void PolicySource::score_anew(const PoliciesInForce& now, const PoliciesInForce& next) const {
  if (!cluster_) return;
  const ClusterPtr cluster = cluster_();
  const auto nodes = cluster->present();
  std::vector<policies::Verdict> verdicts(nodes.size());
  for (const auto& shape : now.cache.shapes()) {
    const policies::Policy* const same = next.set.find(shape->policy->name());
    if (same == nullptr) continue;
    model::SearchBudget budget(kScoreSteps);
    next.cache.open(*same, shape->shape, *cluster, budget, "").judge(nodes, verdicts);
  }
}

}  // namespace tangram::cluster
