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

LabelSelector::Term read_term(json::Reader& in) {
  LabelSelector::Term term;
  const auto read_operator = [](json::Reader& op) { return operator_of(op.string()); };
  json::read_members(in, "key", term.key, "operator", json::value(term.op, read_operator), "values",
                     term.values);
  return term;
}

LabelSelector read_selector(json::Reader& in) {
  LabelSelector selector;
  const auto read_labels = [&](json::Reader& labels) {
    labels.object([&](std::string_view label) {
      selector.terms.push_back(
          {.key = std::string(label), .values = {std::string(labels.string())}});
    });
  };
  json::read_members(in, "matchLabels", read_labels, "matchExpressions",
                     json::each(selector.terms, read_term));
  return selector;
}

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
  return ns == pod_ns && !selector.terms.empty() && !labels.empty() &&
         !disrupted.contains(pod_name) && selector.matches(labels);
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
      budget.disrupted.emplace(pod);
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
