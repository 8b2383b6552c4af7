#include "kube/disruption_budget.hpp"

#include "base/json.hpp"

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
  switch (term.op) {
    case Operator::kIn:
      return listed;
    case Operator::kNotIn:
      return !listed;
    case Operator::kExists:
      return exists;
    case Operator::kDoesNotExist:
      return !exists;
    case Operator::kUnknown:
      return false;
  }
  return false;
}

LabelSelector::Term read_term(json::Reader& in) {
  LabelSelector::Term term;
  in.object([&](std::string_view key) {
    if (key == "key") {
      term.key = in.string();
    } else if (key == "operator") {
      term.op = operator_of(in.string());
    } else if (key == "values") {
      in.array([&] { term.values.emplace_back(in.string()); });
    } else {
      in.skip();
    }
  });
  return term;
}

LabelSelector read_selector(json::Reader& in) {
  LabelSelector selector;
  in.object([&](std::string_view key) {
    if (key == "matchLabels") {
      in.object([&](std::string_view label) {
        LabelSelector::Term term{.key = std::string(label), .values = {}};
        term.values.emplace_back(in.string());
        selector.terms.push_back(std::move(term));
      });
    } else if (key == "matchExpressions") {
      in.array([&] { selector.terms.push_back(read_term(in)); });
    } else {
      in.skip();
    }
  });
  return selector;
}

void read_metadata(json::Reader& in, DisruptionBudget& budget) {
  in.object([&](std::string_view key) {
    if (key == "uid") {
      budget.uid = in.string_or_null();
    } else if (key == "namespace") {
      budget.ns = in.string_or_null();
    } else if (key == "name") {
      budget.name = in.string_or_null();
    } else {
      in.skip();
    }
  });
}

void read_spec(json::Reader& in, DisruptionBudget& budget) {
  in.object([&](std::string_view key) {
    if (key == "selector") {
      budget.selector = read_selector(in);
    } else {
      in.skip();
    }
  });
}

void read_status(json::Reader& in, DisruptionBudget& budget) {
  in.object([&](std::string_view key) {
    if (key == "disruptionsAllowed") {
      // A count of 32 bits; whatever a server says beyond that means none, or all there are.
      budget.allowed = static_cast<int>(
          std::clamp<std::int64_t>(in.integer(), 0, std::numeric_limits<std::int32_t>::max()));
    } else if (key == "disruptedPods") {
      in.object([&](std::string_view pod) {
        budget.disrupted.emplace(pod);
        in.skip();
      });
    } else {
      in.skip();
    }
  });
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
  json::Reader in(text);
  in.object([&](std::string_view key) {
    if (key == "metadata") {
      read_metadata(in, budget);
    } else if (key == "spec") {
      read_spec(in, budget);
    } else if (key == "status") {
      read_status(in, budget);
    } else {
      in.skip();
    }
  });
  if (auto done = in.finish(); !done) return done.error();
  if (budget.name.empty()) return fail(Errc::kInvalidArgument, "metadata.name: missing");
  return budget;
}

}  // namespace tangram::kube
