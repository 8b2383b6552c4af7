#include "kube/local/selector.hpp"

#include "base/split.hpp"

#include <algorithm>
#include <optional>
#include <utility>

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

/// "a=b", "a==b" or "a!=b", taken apart.
struct Comparison {
  std::string_view left;
  bool negated = false;
  std::string_view right;
};

/// @returns nothing if nothing is compared
std::optional<Comparison> read_comparison(std::string_view term) {
  const std::size_t equals = term.find('=');
  if (equals == std::string_view::npos) return std::nullopt;
  const bool negated = equals > 0 && term[equals - 1] == '!';
  const bool doubled = !negated && equals + 1 < term.size() && term[equals + 1] == '=';
  return Comparison{term.substr(0, negated ? equals - 1 : equals), negated,
                    term.substr(equals + (doubled ? 2 : 1))};
}

/// The parts between commas that are not empty.
std::vector<std::string> terms_of(std::string_view text) {
  std::vector<std::string> terms = split(text, ',');
  std::erase(terms, "");
  return terms;
}

bool is_label_text(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.' || c == '/';
  });
}

}  // namespace

Result<Selector> Selector::parse(ResourceKind kind, std::string_view fields,
                                 std::string_view labels) {
  Selector selector;
  for (const std::string& text : terms_of(fields)) {
    auto term = field_term(kind, text);
    if (!term) return term.error();
    selector.fields_.push_back(std::move(*term));
  }
  for (const std::string& text : terms_of(labels)) {
    auto term = label_term(text);
    if (!term) return term.error();
    selector.labels_.push_back(std::move(*term));
  }
  return selector;
}

Result<Selector::FieldTerm> Selector::field_term(ResourceKind kind, std::string_view text) {
  const auto comparison = read_comparison(text);
  if (!comparison) {
    const std::string term(text);
    return fail(Errc::kInvalidArgument,
                "invalid selector: '" + term + "'; can't understand '" + term + "'");
  }
  const auto field = field_of(kind, comparison->left);
  if (!field) {
    return fail(Errc::kInvalidArgument,
                "field label not supported: " + std::string(comparison->left));
  }
  return FieldTerm{*field, comparison->negated, std::string(comparison->right)};
}

Result<Selector::LabelTerm> Selector::label_term(std::string_view text) {
  const auto comparison = read_comparison(text);
  LabelTerm term{.key = {}, .negated = false, .any_value = !comparison, .value = {}};
  if (comparison) {
    term.key = comparison->left;
    term.negated = comparison->negated;
    term.value = comparison->right;
  } else {
    term.negated = text.starts_with('!');
    term.key = text.substr(term.negated ? 1 : 0);
  }
  if (term.key.empty() || !is_label_text(term.key) || !is_label_text(term.value)) {
    return fail(Errc::kInvalidArgument,
                "unable to parse requirement: '" + std::string(text) +
                    "'; this in-memory server knows a=b, a==b, a!=b, a and !a");
  }
  return term;
}

bool Selector::matches(const Fields& fields) const {
  return std::all_of(fields_.begin(), fields_.end(),
                     [&](const FieldTerm& term) {
                       return (fields.*term.field == term.value) != term.negated;
                     }) &&
         std::all_of(labels_.begin(), labels_.end(),
                     [&](const LabelTerm& term) { return matches(term, fields); });
}

/// An object without the label has another value too.
bool Selector::matches(const LabelTerm& term, const Fields& fields) {
  const std::string* label = find(fields.labels, term.key);
  const bool found = label != nullptr && (term.any_value || *label == term.value);
  return found != term.negated;
}

}  // namespace tangram::kube
