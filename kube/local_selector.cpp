#include "kube/local_selector.hpp"

#include <algorithm>
#include <optional>

namespace tangram::kube {

namespace {

using FieldMember = std::string Fields::*;

std::optional<FieldMember> field_of(ResourceKind kind, std::string_view label) {
  const bool pod = kind == ResourceKind::kPods;
  if (label == "metadata.name") return &Fields::name;
  if (label == "metadata.namespace" && info(kind).namespaced) return &Fields::ns;
  if (label == "spec.nodeName" && pod) return &Fields::node;
  if (label == "status.phase" && pod) return &Fields::phase;
  return std::nullopt;
}

}  // namespace

Result<FieldSelector> FieldSelector::parse(ResourceKind kind, std::string_view text) {
  FieldSelector selector;
  while (!text.empty()) {
    const std::string_view term = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), term.size() + 1));
    if (term.empty()) continue;
    const std::size_t equals = term.find('=');
    if (equals == std::string_view::npos) {
      return fail(Errc::kInvalidArgument, "invalid selector: '" + std::string(term) +
                                              "'; can't understand '" + std::string(term) + "'");
    }
    const bool negated = equals > 0 && term[equals - 1] == '!';
    const std::string_view label = term.substr(0, negated ? equals - 1 : equals);
    const bool doubled = equals + 1 < term.size() && term[equals + 1] == '=';
    const auto field = field_of(kind, label);
    if (!field) {
      return fail(Errc::kInvalidArgument, "field label not supported: " + std::string(label));
    }
    selector.terms_.push_back(
        {*field, negated, std::string(term.substr(equals + (doubled && !negated ? 2 : 1)))});
  }
  return selector;
}

bool FieldSelector::matches(const Fields& fields) const {
  return std::all_of(terms_.begin(), terms_.end(), [&](const Term& term) {
    return (fields.*term.field == term.value) != term.negated;
  });
}

}  // namespace tangram::kube
