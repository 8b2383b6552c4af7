#include "policies/choice_cache.hpp"

#include "model/fetch_ahead.hpp"

#include <boost/container_hash/hash.hpp>

#include <algorithm>
#include <iterator>

namespace tangram::policies {

namespace {

constexpr std::size_t kBriefsAhead = 8;

/// @param brief  may be null
void fetch(const model::NodeBrief* brief) {
  if (brief == nullptr) return;
  __builtin_prefetch(brief->use.data());
  __builtin_prefetch(&brief->make);  // in the second line
}

}  // namespace

/// @tparam kKeyOf  by_look or by_node
/// @returns the others
template <auto kKeyOf>
ChoiceCache::Pass::Unknown ChoiceCache::Pass::judge_known(
    std::span<const model::ClusterSnapshot::Found> nodes, std::span<Verdict> verdicts) const {
  Unknown unknown;
  const std::span<const Answer> answers = shape_->answers;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (const Answer* const known = find(answers, kKeyOf(nodes[i]))) {
      verdicts[i] = known->verdict();
    } else if (nodes[i].node != nullptr) {
      unknown.push_back(static_cast<std::uint32_t>(i));
    }
  }
  return unknown;
}

std::size_t ChoiceCache::Pass::judge(std::span<const model::ClusterSnapshot::Found> nodes,
                                     std::span<Verdict> verdicts, Walk& walk) const {
  Unknown unknown =
      by_node_ ? judge_known<by_node>(nodes, verdicts) : judge_known<by_look>(nodes, verdicts);
  const std::size_t in_brief = judge_in_brief(nodes, unknown, verdicts, walk);
  return in_brief / kBriefsPerQuestion + judge_unknown(nodes, unknown, verdicts, walk);
}

std::size_t ChoiceCache::Pass::judge_in_brief(std::span<const model::ClusterSnapshot::Found> nodes,
                                              Unknown& unknown, std::span<Verdict> verdicts,
                                              Walk& walk) const {
  if (unknown.empty() || by_node_ || shape_->scorer == nullptr) return 0;
  BriefScorer& scorer = scorer_of(walk);
  const auto brief_at = [&](std::size_t next) -> const model::NodeBrief* {
    const model::ClusterSnapshot::Found& found = nodes[unknown[next]];
    return found.look.version == 0 ? nullptr : &cluster_.brief(found.index);
  };
  const std::size_t all = unknown.size();
  std::size_t others = 0;
  for (std::size_t next = 0; next < all; ++next) {
    if (next + kBriefsAhead < all) fetch(brief_at(next + kBriefsAhead));
    const model::NodeBrief* const brief = brief_at(next);
    const std::uint32_t i = unknown[next];
    if (brief == nullptr || brief->make == nullptr) {
      unknown[others++] = i;
      continue;
    }
    // A node before it may look like it.
    const model::Look look = nodes[i].look;
    Answer& answer = shape_->answers.at(look.index);
    if (!answer.is_of(look.version)) answer.set(look.version, scorer.judge(*brief));
    verdicts[i] = answer.verdict();
  }
  unknown.resize(others);
  return all - others;
}

BriefScorer& ChoiceCache::Pass::scorer_of(Walk& walk) const {
  if (&walk == &walk_) return *shape_->scorer;
  if (walk.scorer_ == nullptr) walk.scorer_ = shape_->brief_scorer();
  return *walk.scorer_;
}

std::size_t ChoiceCache::Pass::judge_unknown(std::span<const model::ClusterSnapshot::Found> nodes,
                                             const Unknown& unknown, std::span<Verdict> verdicts,
                                             Walk& walk) const {
  std::size_t asked = 0;
  const model::FetchAhead ahead(unknown.size(),
                                [&](std::size_t i) { return nodes[unknown[i]].node; });
  for (std::size_t next = 0; next < unknown.size(); ++next) {
    ahead.at(next);
    const std::uint32_t i = unknown[next];
    const model::Look key = key_of(nodes[i]);
    // A node before it may look like it.
    const Answer* const known = find(shape_->answers, key);
    if (known != nullptr) {
      verdicts[i] = known->verdict();
    } else {
      verdicts[i] = judge_anew(nodes[i], key, walk);
      ++asked;
    }
  }
  return asked;
}

Verdict ChoiceCache::Pass::ask_policy(const model::NodeState& node, Walk& walk) const {
  const std::int64_t skipped = budget_.skipped();
  const auto choice = policy_.choose(demand_, node, budget_, &walk.memo_);
  if (choice) return Verdict(choice->score);
  const bool tried = budget_.skipped() == skipped;
  return Verdict(tried ? model::why_not(demand_.gpu, node) : model::Misfit::kNotTried);
}

Verdict ChoiceCache::Pass::judge_anew(const model::ClusterSnapshot::Found& found, model::Look key,
                                      Walk& walk) const {
  if (key.version == 0) return ask_policy(*found.node, walk);
  if (walk.untried_.contains(key.version)) return Verdict(model::Misfit::kNotTried);
  const Verdict verdict = ask_policy(*found.node, walk);
  if (verdict.misfit() == model::Misfit::kNotTried) {
    walk.untried_.insert(key.version);
  } else {
    shape_->answers.at(key.index).set(key.version, verdict);
  }
  return verdict;
}

std::vector<ChoiceCache::KeyPtr> ChoiceCache::shapes() const {
  std::vector<KeyPtr> all;
  all.reserve(limit_);
  const std::lock_guard guard(mutex_);
  for (auto entry = proven_.rbegin(); entry != proven_.rend(); ++entry) all.push_back(entry->key);
  return all;
}

ChoiceCache::Pass ChoiceCache::open(const Policy& policy, const model::PodDemand& demand,
                                    const model::ClusterSnapshot& cluster,
                                    model::SearchBudget& budget, std::string_view pod) {
  return {policy, demand, cluster, budget,
          shape_for({.policy = &policy, .shape = shape_of(demand)}, pod)};
}

std::shared_ptr<ChoiceCache::Shape> ChoiceCache::shape_for(const Key& key, std::string_view pod) {
  const std::lock_guard guard(mutex_);
  auto known = index_.find(key);
  if (known == index_.end()) {
    auto name = std::make_shared<const Key>(key);
    once_.push_front(
        {.key = name, .shape = std::make_shared<Shape>(name), .first_pod = std::string(pod)});
    known = index_.emplace(once_.front().key, once_.begin()).first;
  }
  const Entries::iterator entry = known->second;
  Entries& from = entry->proven ? proven_ : entry->shape == nullptr ? names_ : once_;
  if (entry->shape == nullptr) entry->shape = std::make_shared<Shape>(entry->key);
  entry->proven = entry->proven || pod.empty() || entry->first_pod != pod;
  Entries& to = entry->proven ? proven_ : once_;
  to.splice(to.begin(), from, entry);
  auto shape = entry->shape;
  forget_beyond(limit_, proven_);
  while (once_.size() > std::max<std::size_t>(1, limit_ / 2)) {
    once_.back().shape = nullptr;
    names_.splice(names_.begin(), once_, std::prev(once_.end()));
  }
  forget_beyond(kNames * limit_, names_);
  return shape;
}

/// A pass under way keeps its shape alive.
void ChoiceCache::forget_beyond(std::size_t most, Entries& entries) {
  for (; entries.size() > most; entries.pop_back()) index_.erase(entries.back().key);
}

std::size_t ChoiceCache::KeyHash::operator()(const Key& key) const {
  std::size_t seed = ShapeHash{}(key.shape);
  boost::hash_combine(seed, key.policy);
  return seed;
}

}  // namespace tangram::policies
