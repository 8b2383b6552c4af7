#pragma once

#include <string>
#include <string_view>

/// Which texts can be the id and the model of a card. They pass through shells, file names, URLs,
/// labels, lists with commas and CDI specs. Therefore they consist of characters without a meaning
/// there, and begin with a letter or digit, so that none is an option or a hidden file.
///
///     id     letters, digits and - _ . :                   GPU-5f2a…, MIG-…, 0000:17:00.0
///     model  those, spaces and + / ( ) [ ]                 A100-SXM4-80GB MIG 1g.10gb+me
namespace tangram::model {

/// No name, UID or UUID of Kubernetes or a vendor is longer: a DNS subdomain's limit.
inline constexpr std::size_t kMaxName = 253;

[[nodiscard]] bool is_card_id(std::string_view text);     ///< 1..kMaxName characters
[[nodiscard]] bool is_card_model(std::string_view text);  ///< 1..kMaxName characters
/// The nearest model: every other character becomes '-', and what stands before the first letter or
/// digit or after kMaxName characters is dropped. Empty if no letter or digit is left.
[[nodiscard]] std::string card_model_of(std::string_view text);

}  // namespace tangram::model
