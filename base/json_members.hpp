#pragma once

#include "base/json.hpp"

#include <concepts>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

/// Decodes objects of which a few members are of interest.
///
///     json::read_members(in, "name", node.name, "slots", node.slots,
///                        "cards", json::each(node.cards, read_card),
///                        "status", json::members("phase", node.phase));
///
/// A member goes into a string (null = ""), a bool, an integer that must fit, an optional one of
/// these (null = as it was), a list or a map of strings, or to a function of the Reader. Other
/// members are skipped. value(), each() and members() refer to their arguments: write them inside
/// the call.
namespace tangram::json {

inline void read_into(Reader& in, std::string& into) { into = in.string_or_null(); }
inline void read_into(Reader& in, bool& into) { into = in.boolean(); }
template <std::integral Integer>
void read_into(Reader& in, Integer& into) {
  const std::int64_t value = in.integer();
  if (!std::in_range<Integer>(value)) return in.fail("the number is out of range");
  into = static_cast<Integer>(value);
}
inline void read_into(Reader& in, std::vector<std::string>& into) {
  in.array([&] { into.emplace_back(in.string()); });
}
template <class Less>
void read_into(Reader& in, std::map<std::string, std::string, Less>& into) {
  in.object([&](std::string_view key) { into.emplace(key, in.string_or_null()); });
}
template <class Value>
void read_into(Reader& in, std::optional<Value>& into) {
  if (in.kind() == Kind::kNull) return in.skip();
  read_into(in, into.emplace());
}

/// A value that `read(in)` returns.
template <class Value, class Read>
auto value(Value& into, const Read& read) {
  return [&into, &read](Reader& in) { into = read(in); };
}

/// An array whose elements `read(in)` returns.
template <class Item, class Read>
auto each(std::vector<Item>& into, const Read& read) {
  return [&into, &read](Reader& in) { in.array([&] { into.push_back(read(in)); }); };
}

/// @returns false if no name is `key`; then nothing is read
template <class Target, class... More>
bool read_member(Reader& in, std::string_view key, std::string_view name, Target&& target,
                 More&&... more) {
  if (key != name) {
    if constexpr (sizeof...(More) > 0) return read_member(in, key, more...);
    return false;
  }
  if constexpr (std::is_invocable_v<Target&, Reader&>) {
    target(in);
  } else {
    read_into(in, target);
  }
  return true;
}

/// @param members  pairs of a name and a target, as above
template <class... Members>
void read_members(Reader& in, Members&&... members) {
  in.object([&](std::string_view key) {
    if (!read_member(in, key, members...)) in.skip();
  });
}

/// The same of an object inside an object.
template <class... Members>
auto members(Members&&... members) {
  return [&](Reader& in) { read_members(in, members...); };
}

}  // namespace tangram::json
