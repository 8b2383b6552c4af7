#pragma once

#include "config/config.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// The one place that knows each setting's key, bounds and meaning. The loader, the reference
/// file, the documentation page and the help text all read this table.
namespace tangram::config {

/// A limit and why it is there.
struct Bound {
  std::int64_t value = 0;
  std::string_view reason;  ///< a clause: "Go keeps idle connections for 90 s"
};

/// What a setting may be, and how it is read and written.
struct Rule {
  std::string_view form = {};  ///< completes "write ..."; empty where there are choices or bounds
  std::span<const std::string_view> choices = {};      ///< a closed set
  std::optional<std::pair<Bound, Bound>> bounds = {};  ///< of a whole number
  std::string (*get)(const Config&) = nullptr;
  /// @returns false, and leaves the Config alone, if the text does not have that form
  bool (*set)(Config&, std::string_view) = nullptr;
};

/// One setting. Texts have static storage: the table is made of literals.
struct Setting {
  std::string_view key;
  std::string_view description;  ///< one or two full sentences
  Rule rule;
  bool required = false;
};

struct Section {
  std::string_view name;
  std::string_view description;
  std::span<const Setting> settings;
};

/// Two settings of which one limits the other.
struct Relation {
  std::string_view first;  ///< "section.key"; the one that the message is about
  std::string_view second;
  std::string_view rule;  ///< one sentence, for the documentation
  bool (*holds)(const Config&) = nullptr;
  std::string_view problem;                        ///< if it does not hold: "what; what to write"
  std::string (*detail)(const Config&) = nullptr;  ///< what stands for the {} of `problem`
};

/// All sections, in the order in which people should read them.
[[nodiscard]] std::span<const Section> sections();
[[nodiscard]] std::span<const Relation> relations();

/// "section.key"
[[nodiscard]] std::string full_name(const Section& section, const Setting& setting);

/// What may be written: "1..256", "GiB or MiB".
[[nodiscard]] std::string allowed_text(const Setting& setting);

/// What to write, after "write ": "a whole number in 1..256".
[[nodiscard]] std::string remedy(const Setting& setting);

/// Sets it from text.
/// @returns "what; what to write", and leaves the Config alone, if the text is not allowed
[[nodiscard]] std::optional<std::string> assign(const Setting& setting, std::string_view text,
                                                Config& config);

}  // namespace tangram::config
