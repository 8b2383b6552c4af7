#pragma once

#include "base/json_members.hpp"
#include "base/one_line.hpp"
#include "model/card_names.hpp"

#include <boost/container/small_vector.hpp>

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

/// What the annotation codecs of this folder share: reads with limits. All of them leave the
/// reader failed on bad input, as the reader's own calls do.
namespace tangram::model::codec {

/// 2^40 MiB is a million times the largest card, and 1000 times it still fits 64 bits.
inline constexpr std::int64_t kMaxMebibytes = std::int64_t{1} << 40U;
inline constexpr std::int64_t kMilliPerCard = 1000;

/// A text of at most `most` characters; may be empty.
[[nodiscard]] std::string text(json::Reader& in, std::size_t most = kMaxName);
/// A text of 1..kMaxName characters.
[[nodiscard]] std::string name(json::Reader& in);
/// The id or the model of a card (see card_names.hpp).
[[nodiscard]] std::string card_id(json::Reader& in);
[[nodiscard]] std::string optional_card_id(json::Reader& in);  ///< may be empty
[[nodiscard]] std::string card_model(json::Reader& in);
/// A container's name: a DNS label.
[[nodiscard]] std::string container_name(json::Reader& in);
/// A whole number of that range.
[[nodiscard]] std::int64_t number(json::Reader& in, std::int64_t least, std::int64_t most);
/// Reads "version" and fails unless it is the one version that is known.
void version(json::Reader& in, std::int64_t known);

/// Fails, naming it, on the first required member that was not seen.
void require(json::Reader& in, std::span<const std::string_view> seen,
             std::initializer_list<std::string_view> required);

/// Reads an object as json::read_members() does, and fails unless it has all required members.
template <class... Members>
void object(json::Reader& in, std::initializer_list<std::string_view> required,
            Members&&... members) {
  boost::container::small_vector<std::string_view, 16> seen;
  in.object([&](std::string_view key) {
    seen.push_back(key);
    if (!json::read_member(in, key, members...)) in.skip();
  });
  require(in, seen, required);
}

// ---- Targets of object().

inline auto into(std::string& to) {
  return [&to](json::Reader& in) { to = name(in); };
}
inline auto text_into(std::string& to, std::size_t most = kMaxName) {
  return [&to, most](json::Reader& in) { to = text(in, most); };
}
/// For texts that are shown: see one_line().
inline auto one_line_into(std::string& to, std::size_t most) {
  return [&to, most](json::Reader& in) { to = one_line(text(in, most)); };
}
inline auto card_id_into(std::string& to) {
  return [&to](json::Reader& in) { to = card_id(in); };
}
inline auto optional_card_id_into(std::string& to) {
  return [&to](json::Reader& in) { to = optional_card_id(in); };
}
inline auto card_model_into(std::string& to) {
  return [&to](json::Reader& in) { to = card_model(in); };
}
inline auto container_name_into(std::string& to) {
  return [&to](json::Reader& in) { to = container_name(in); };
}
template <class Amount>
auto into(Amount& to, std::int64_t least, std::int64_t most) {
  return
      [&to, least, most](json::Reader& in) { to = static_cast<Amount>(number(in, least, most)); };
}
inline auto version_of(std::int64_t known) {
  return [known](json::Reader& in) { version(in, known); };
}

}  // namespace tangram::model::codec
