#include "kube/disruption_budget.hpp"

#include "base/json_members.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

namespace tangram::kube {

namespace {

using Operator = LabelSelector::Operator;

Operator operator_of(std::string_view text) {
  if (text == "In") return Operator::kIn;
  if (text == "NotIn") return Operator::kNotIn;
  if (text == "Exists") return Operator::kExists;
  if (text == "DoesNotExist") return Operator::kDoesNotExist;
  return Operator::kUnknown;
}

bool holds(const LabelSelector::Term& term, const Labels& labels) {
  const auto label = labels.find(term.key);
  const bool exists = label != labels.end();
  const bool listed = exists && std::find(term.values.begin(), term.values.end(), label->second) !=
                                    term.values.end();
  if (term.op == Operator::kIn) return listed;
  if (term.op == Operator::kNotIn) return !listed;
  if (term.op == Operator::kExists) return exists;
  return term.op == Operator::kDoesNotExist && !exists;
}

/// Reads a selector up to its limits: past one, the rest is skipped.
class SelectorReader {
 public:
  explicit SelectorReader(json::Reader& in) : in_(in) {}

  LabelSelector read() {
    const auto read_labels = [this](json::Reader&) { this->read_labels(); };
    const auto read_terms = [this](json::Reader& in) { in.array([this] { read_term(); }); };
    json::read_members(in_, "matchLabels", read_labels, "matchExpressions", read_terms);
    if (too_large_) terms_.clear();
    terms_.shrink_to_fit();  // there may be many budgets
    return {.terms = std::move(terms_), .too_large = too_large_};
  }

 private:
  void read_labels() {
    in_.object([this](std::string_view label) {
      if (!may_add(terms_.size(), LabelSelector::kMostTerms)) return in_.skip();
      LabelSelector::Term term{.key = text(label), .values = {}};
      read_value(term);
      terms_.push_back(std::move(term));
    });
  }

  void read_term() {
    if (!may_add(terms_.size(), LabelSelector::kMostTerms)) return in_.skip();
    LabelSelector::Term term;
    const auto read_key = [this](json::Reader& in) { return text(in.string_or_null()); };
    const auto read_operator = [](json::Reader& in) { return operator_of(in.string()); };
    const auto read_values = [&](json::Reader& in) { in.array([&] { read_value(term); }); };
    json::read_members(in_, "key", json::value(term.key, read_key), "operator",
                       json::value(term.op, read_operator), "values", read_values);
    term.values.shrink_to_fit();
    terms_.push_back(std::move(term));
  }

  void read_value(LabelSelector::Term& term) {
    if (!may_add(values_, LabelSelector::kMostValues)) return in_.skip();
    ++values_;
    term.values.push_back(text(in_.string()));
  }

  /// One more than there are?
  bool may_add(std::size_t count, std::size_t most) {
    too_large_ = too_large_ || count >= most;
    return !too_large_;
  }

  std::string text(std::string_view read) {
    too_large_ = too_large_ || read.size() > LabelSelector::kLongestText;
    return std::string(too_large_ ? std::string_view() : read);
  }

  json::Reader& in_;
  std::vector<LabelSelector::Term> terms_;
  std::size_t values_ = 0;  // of all terms
  bool too_large_ = false;
};

LabelSelector read_selector(json::Reader& in) { return SelectorReader(in).read(); }

/// A count of 32 bits; whatever a server writes beyond that means none, or all there are.
int read_allowed(json::Reader& in) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  return static_cast<int>(std::clamp<std::int64_t>(in.integer(), 0, kMost));
}

}  // namespace

bool LabelSelector::matches(const Labels& labels) const {
  return std::all_of(terms.begin(), terms.end(),
                     [&](const Term& term) { return holds(term, labels); });
}

bool DisruptionBudget::covers(std::string_view pod_ns, std::string_view pod_name,
                              const Labels& labels) const {
  if (ns != pod_ns || disrupted.contains(pod_name)) return false;
  if (selector.too_large) return true;
  return !selector.terms.empty() && !labels.empty() && selector.matches(labels);
}

Result<DisruptionBudget> decode_disruption_budget(std::string text) {
  DisruptionBudget budget;
  static const json::Outline kOutline{
      .members = {{"metadata", {{"uid"}, {"namespace"}, {"name"}}},
                  {"spec", {{"selector", {{"matchLabels"}, {"matchExpressions"}}}}},
                  {"status", {{"disruptionsAllowed"}, {"disruptedPods"}}}}};
  json::Reader in(text, kOutline);
  const auto read_disrupted = [&](json::Reader& pods) {
    pods.object([&](std::string_view pod) {
      if (budget.disrupted.size() < DisruptionBudget::kMostDisrupted) budget.disrupted.emplace(pod);
      pods.skip();
    });
  };
  json::read_members(
      in, "metadata", json::members("uid", budget.uid, "namespace", budget.ns, "name", budget.name),
      "spec", json::members("selector", json::value(budget.selector, read_selector)), "status",
      json::members("disruptionsAllowed", json::value(budget.allowed, read_allowed),
                    "disruptedPods", read_disrupted));
  if (auto done = in.finish(); !done) return done.error();
  if (budget.name.empty()) return fail(Errc::kInvalidArgument, "metadata.name: missing");
  return budget;
}

}  // namespace tangram::kube
