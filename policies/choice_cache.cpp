#include "policies/choice_cache.hpp"

#include <boost/container_hash/hash.hpp>

#include <algorithm>

namespace tangram::policies {

namespace {

Verdict fresh_verdict(const Policy& policy, const model::PodDemand& demand,
                      const model::NodeState& node) {
  const auto choice = policy.choose(demand, node);
  if (choice) return {.score = choice->score, .misfit = {}};
  return {.score = 0, .misfit = model::why_not(demand.gpu, node)};
}

}  // namespace

ChoiceCache::Answer::Answer(std::uint64_t version, const Verdict& verdict)
    : version_(version),
      word_(verdict.fits() ? verdict.score
                           : kMisfitWords + static_cast<std::int64_t>(*verdict.misfit)) {}

Verdict ChoiceCache::Pass::judge_anew(const model::ClusterSnapshot::Found& found) {
  if (found.version == 0) return fresh_verdict(policy_, demand_, *found.node);
  std::vector<Answer>& answers = shape_->answers;
  if (found.index >= answers.size()) {
    answers.resize(std::max<std::size_t>(cluster_.slots(), found.index + std::size_t{1}));
  }
  Answer& answer = answers[found.index];
  cluster_.fetch_ahead(found.index);
  answer = {found.version, fresh_verdict(policy_, demand_, *found.node)};
  return answer.verdict();
}

std::vector<ChoiceCache::Key> ChoiceCache::shapes() const {
  const std::lock_guard guard(mutex_);
  std::vector<Key> all;
  for (auto entry = recent_.rbegin(); entry != recent_.rend(); ++entry) all.push_back(entry->key);
  return all;
}

ChoiceCache::Pass ChoiceCache::open(const Policy& policy, const model::PodDemand& demand,
                                    const model::ClusterSnapshot& cluster) {
  return {policy, demand, cluster, shape_for({.policy = &policy, .shape = shape_of(demand)})};
}

std::shared_ptr<ChoiceCache::Shape> ChoiceCache::shape_for(Key key) {
  const std::lock_guard guard(mutex_);
  if (const auto known = index_.find(key); known != index_.end()) {
    recent_.splice(recent_.begin(), recent_, known->second);
    return known->second->shape;
  }
  if (recent_.size() >= limit_) {
    index_.erase(recent_.back().key);
    recent_.pop_back();  // a pass under way keeps its shape alive
  }
  recent_.push_front({.key = key, .shape = std::make_shared<Shape>()});
  index_.emplace(std::move(key), recent_.begin());
  return recent_.front().shape;
}

std::size_t ChoiceCache::KeyHash::operator()(const Key& key) const {
  std::size_t seed = ShapeHash{}(key.shape);
  boost::hash_combine(seed, key.policy);
  return seed;
}

}  // namespace tangram::policies
