#pragma once

#include "config/settings.hpp"

#include <algorithm>
#include <array>
#include <type_traits>
#include <utility>

/// The kinds of rules that the rows of the settings table use. A row names the field of Config by
/// section and member: number<&Config::bind, &Config::Bind::workers>(...). For config/sections.
namespace tangram::config {

template <auto Part, auto Field>
struct FieldOf {
  static auto& in(Config& config) { return (config.*Part).*Field; }
  static const auto& in(const Config& config) { return (config.*Part).*Field; }
  using Value = std::remove_cvref_t<decltype(in(std::declval<const Config&>()))>;
};

/// A whole number: an integer, a quantity or a duration.
template <auto Part, auto Field>
constexpr IntegerRule number(Bound min, Bound max) {
  using Of = FieldOf<Part, Field>;
  using Value = typename Of::Value;
  return {.min = min,
          .max = max,
          .get = [](const Config& config) -> std::int64_t {
            if constexpr (std::is_integral_v<Value>)
              return Of::in(config);
            else
              return Of::in(config).count();
          },
          .set = [](Config& config,
                    std::int64_t count) { Of::in(config) = static_cast<Value>(count); }};
}

/// Any text, or any but the empty one.
template <auto Part, auto Field, bool MayBeEmpty>
constexpr TextRule free_text(std::string_view form) {
  using Of = FieldOf<Part, Field>;
  return {.form = form,
          .choices = {},
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
template <auto Part, auto Field, const auto& kNames>
constexpr TextRule choice() {
  using Of = FieldOf<Part, Field>;
  using Value = typename Of::Value;
  return {.form = {},
          .choices = kNames,
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

template <auto Part, auto Field>
constexpr TextRule yes_or_no() {
  TextRule rule = choice<Part, Field, kFalseAndTrue>();
  rule.form = "true or false";
  return rule;
}

/// "a,b" <-> {"a", "b"}.
[[nodiscard]] std::string join_names(const std::vector<std::string>& names);
/// @returns nothing if a name is empty
[[nodiscard]] std::optional<std::vector<std::string>> split_names(std::string_view text);

template <auto Part, auto Field>
constexpr TextRule name_list() {
  using Of = FieldOf<Part, Field>;
  return {.form = "names with one comma between and no spaces, or \"\"",
          .choices = {},
          .get = [](const Config& config) { return join_names(Of::in(config)); },
          .set =
              [](Config& config, std::string_view text) {
                auto names = split_names(text);
                if (names) Of::in(config) = std::move(*names);
                return names.has_value();
              }};
}

/// @returns nothing unless it is a numeric address and a port
[[nodiscard]] std::optional<Endpoint> parse_endpoint(std::string_view text);

/// An address and a port; of a listener that need not be there, "" too.
template <auto Part, auto Field>
constexpr TextRule endpoint() {
  using Of = FieldOf<Part, Field>;
  constexpr bool kOptional = std::is_same_v<typename Of::Value, std::optional<Endpoint>>;
  return {.form = kOptional ? "an IP address and a port, as in 127.0.0.1:9898, 0.0.0.0:9898 or "
                              "[::1]:9898; or \"\""
                            : "an IP address and a port, as in 127.0.0.1:9898, 0.0.0.0:9898 or "
                              "[::1]:9898",
          .choices = {},
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
