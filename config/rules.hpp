#pragma once

#include "base/number.hpp"
#include "config/settings.hpp"

#include <boost/algorithm/string/join.hpp>

#include <algorithm>
#include <array>
#include <tuple>
#include <type_traits>
#include <utility>

/// The kinds of rules that the rows of the settings table use. A row names the field of Config:
/// number<&Config::Bind::workers>(...). For config/sections.
namespace tangram::config {

/// Every section of Config.
inline constexpr auto kParts = std::make_tuple(
    &Config::server, &Config::tls, &Config::webhook, &Config::metrics, &Config::scheduler,
    &Config::bind, &Config::kube, &Config::leader_election, &Config::eviction,
    &Config::broken_cards, &Config::card_preemption, &Config::defrag, &Config::grants,
    &Config::fragmentation, &Config::bestfit, &Config::admission, &Config::foreign, &Config::log);

template <auto Field>
struct FieldOf;
template <class Part, class FieldValue, FieldValue Part::*kField>
struct FieldOf<kField> {
  using Value = FieldValue;
  static constexpr auto kPart = std::get<Part Config::*>(kParts);
  static auto& in(auto& config) { return (config.*kPart).*kField; }
};

/// A whole number: an integer, a quantity or a duration.
template <auto Field>
constexpr Rule number(Bound min, Bound max) {
  using Of = FieldOf<Field>;
  using Value = typename Of::Value;
  return {.bounds = {{min, max}},
          .get =
              [](const Config& config) {
                if constexpr (std::is_integral_v<Value>)
                  return std::to_string(Of::in(config));
                else
                  return std::to_string(Of::in(config).count());
              },
          .set =
              [](Config& config, std::string_view text) {
                Of::in(config) = static_cast<Value>(parse_number<std::int64_t>(text).value());
                return true;
              }};
}

/// Any text, or any but the empty one.
template <auto Field, bool MayBeEmpty>
constexpr Rule free_text(std::string_view form) {
  using Of = FieldOf<Field>;
  return {.form = form,
          .get = [](const Config& config) { return Of::in(config); },
          .set =
              [](Config& config, std::string_view text) {
                if (text.empty() && !MayBeEmpty) return false;
                Of::in(config) = text;
                return true;
              }};
}

/// One of a closed set. The field is a text, or a value (an enumerator, a bool) whose number is the
/// index of its name.
template <auto Field, const auto& kNames>
constexpr Rule choice() {
  using Of = FieldOf<Field>;
  using Value = typename Of::Value;
  return {.choices = kNames,
          .get =
              [](const Config& config) {
                if constexpr (std::is_same_v<Value, std::string>)
                  return Of::in(config);
                else
                  return std::string(kNames.at(static_cast<std::size_t>(Of::in(config))));
              },
          .set =
              [](Config& config, std::string_view text) {
                const auto name = std::find(kNames.begin(), kNames.end(), text);
                if (name == kNames.end()) return false;
                if constexpr (std::is_same_v<Value, std::string>)
                  Of::in(config) = text;
                else
                  Of::in(config) = static_cast<Value>(name - kNames.begin());
                return true;
              }};
}

inline constexpr std::array<std::string_view, 2> kFalseAndTrue{"false", "true"};

template <auto Field>
constexpr Rule yes_or_no() {
  Rule rule = choice<Field, kFalseAndTrue>();
  rule.form = "true or false";
  return rule;
}

/// "a,b" -> {"a", "b"}. @returns nothing if a name is empty
[[nodiscard]] std::optional<std::vector<std::string>> split_names(std::string_view text);
/// Whether a text can be the key of a label or a taint.
[[nodiscard]] bool is_key(std::string_view text);

template <auto Field>
constexpr Rule name_list() {
  using Of = FieldOf<Field>;
  return {.form = "names with one comma between and no spaces, or \"\"",
          .get = [](const Config& config) { return boost::join(Of::in(config), ","); },
          .set =
              [](Config& config, std::string_view text) {
                auto names = split_names(text);
                if (names) Of::in(config) = std::move(*names);
                return names.has_value();
              }};
}

/// Keys of labels or taints: "nvidia.com/gpu".
template <auto Field>
constexpr Rule key_list() {
  Rule rule = name_list<Field>();
  rule.form = "keys with one comma between, without values, effects and spaces, or \"\"";
  rule.set = [](Config& config, std::string_view text) {
    auto keys = split_names(text);
    const bool valid = keys && std::ranges::all_of(*keys, is_key);
    if (valid) FieldOf<Field>::in(config) = std::move(*keys);
    return valid;
  };
  return rule;
}

/// An address and a port; of a listener that need not be there, "" too.
template <auto Field>
constexpr Rule endpoint() {
  using Of = FieldOf<Field>;
  constexpr bool kOptional = std::is_same_v<typename Of::Value, std::optional<Endpoint>>;
  return {.form = kOptional ? "an IP address and a port, as in 127.0.0.1:9898, 0.0.0.0:9898 or "
                              "[::1]:9898; or \"\""
                            : "an IP address and a port, as in 127.0.0.1:9898, 0.0.0.0:9898 or "
                              "[::1]:9898",
          .get =
              [](const Config& config) {
                const std::optional<Endpoint> endpoint = Of::in(config);
                return endpoint ? to_string(*endpoint) : std::string();
              },
          .set =
              [](Config& config, std::string_view text) {
                auto endpoint = parse_endpoint(text);
                if (endpoint) {
                  Of::in(config) = std::move(*endpoint);
                  return true;
                }
                if constexpr (kOptional) {
                  if (text.empty()) Of::in(config).reset();
                  return text.empty();
                }
                return false;
              }};
}

}  // namespace tangram::config
