#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

/// Single values of API objects, without decoding the whole. Names, times, numbers and base64 have
/// no escapes, so their text is taken as it is.
namespace tangram::cli {

using JsonPath = std::initializer_list<std::string_view>;

/// The value at a path of members, as text; "" if it is not there.
[[nodiscard]] std::string_view value_at(std::string_view object, JsonPath path);
/// A string's characters; "" if there is none.
[[nodiscard]] std::string text_at(std::string_view object, JsonPath path);
/// The same of a string that may have escapes.
[[nodiscard]] std::string unescaped_at(std::string_view object, JsonPath path);
/// A whole number; nothing if there is none.
[[nodiscard]] std::optional<std::int64_t> number_at(std::string_view object, JsonPath path);
/// Calls `element` for each element of an array; none if there is no array.
void for_each_at(std::string_view object, JsonPath path,
                 const std::function<void(std::string_view element)>& element);

}  // namespace tangram::cli
