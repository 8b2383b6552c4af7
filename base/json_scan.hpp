#pragma once

#include <cstddef>
#include <initializer_list>
#include <string_view>
#include <vector>

/// Cuts a JSON text into its parts without decoding them: several times as fast as json::Reader,
/// for passing parts on whole. Where a part begins and ends is found by quotes and brackets alone,
/// so a part may be no JSON inside; its decoder will see.
///
/// For every text that json::Reader accepts the parts are exactly its values. In a part that is no
/// JSON a backslash hides a quote outside of strings as it does inside.
namespace tangram::json {

/// Where the value that begins at `at` ends; npos if the text ends before, or nothing begins there.
[[nodiscard]] std::size_t end_of_value(std::string_view text, std::size_t at);

/// The first place from `at` on that is no white space; text.size() if there is none.
[[nodiscard]] std::size_t skip_space(std::string_view text, std::size_t at);

/// The first place from `at` on that does not stand for itself in a string: a quote, a backslash, a
/// control character, or a byte that is no ASCII. text.size() if there is none.
[[nodiscard]] std::size_t end_of_plain(std::string_view text, std::size_t at);

/// What stands between the quotes of a string, as written: escapes are not resolved. "" if the
/// text is not a string.
[[nodiscard]] std::string_view raw_string(std::string_view value);

/// Where the first value at the path of keys begins, inside objects; npos if there is none. Reads
/// no further.
[[nodiscard]] std::size_t find_begin(std::string_view object,
                                     std::initializer_list<std::string_view> path);

/// The whole of that value; "" if there is none, or it does not end.
[[nodiscard]] std::string_view find(std::string_view object,
                                    std::initializer_list<std::string_view> path);

/// Reads an array of strings that stand for themselves: ASCII without escapes, as all names of
/// Kubernetes are. Takes a tenth of what json::Reader takes; unlike the rest of this header it
/// checks all that it reads.
/// @param strings  gets them; after npos, any part of them
/// @returns where the array that begins at `at` ends; npos for anything else
[[nodiscard]] std::size_t read_plain_strings(std::string_view text, std::size_t at,
                                             std::vector<std::string_view>& strings);

/// Calls `member(key, value)` for each member of an object, in order; the key as raw_string() has
/// it. Null counts as an object without members.
/// @returns false if the text is not one object and nothing else; some calls may have been made
template <class Member>
[[nodiscard]] bool for_each_member(std::string_view object, Member&& member);

/// Calls `element(value)` for each element of an array; null counts as empty. As above.
template <class Element>
[[nodiscard]] bool for_each_element(std::string_view array, Element&& element);

/// As for_each_member(), but `take(key, rest)` finds the end of the value, with which the rest of
/// the text begins: for a value that is cut into parts, so that it is not passed over first. Its
/// result: the size of the value; npos for a broken one.
template <class Take>
[[nodiscard]] bool take_members(std::string_view object, Take&& take);

/// For that: calls `element(value)` for each element of the array with which the text begins; null
/// counts as empty.
/// @returns the size of the array; npos for anything else
template <class Element>
[[nodiscard]] std::size_t take_elements(std::string_view text, Element&& element);

// ---- how ----

namespace scan {

/// The bracket that opens the text, and what follows up to the closing one at its very end.
struct Body {
  bool null = false;
  bool good = false;
  std::string_view inside;  ///< with the closing bracket
};
[[nodiscard]] Body open(std::string_view text, char open, char close);

/// What follows a value that ends at `at`, which moves behind it: ',' or the closing bracket; 0 if
/// it is neither.
[[nodiscard]] char separator(std::string_view inside, std::size_t& at, char close);

/// A key and its colon.
[[nodiscard]] bool next_key(std::string_view inside, std::size_t& at, std::string_view& key);

/// Nothing stands between the brackets.
[[nodiscard]] bool empty(std::string_view inside);

}  // namespace scan

template <class Take>
bool take_members(std::string_view object, Take&& take) {
  const scan::Body body = scan::open(object, '{', '}');
  if (!body.good || body.null || scan::empty(body.inside)) return body.good;
  for (std::size_t at = 0;;) {
    std::string_view key;
    if (!scan::next_key(body.inside, at, key)) return false;
    at = skip_space(body.inside, at);
    const std::size_t size = take(key, body.inside.substr(at));
    if (size == std::string_view::npos) return false;
    at += size;
    const char next = scan::separator(body.inside, at, '}');
    if (next != ',') return next == '}' && at == body.inside.size();
  }
}

template <class Element>
std::size_t take_elements(std::string_view text, Element&& element) {
  constexpr std::string_view kNull = "null";
  if (text.starts_with(kNull)) return kNull.size();
  if (!text.starts_with('[')) return std::string_view::npos;
  std::size_t at = skip_space(text, 1);
  if (text.substr(at).starts_with(']')) return at + 1;
  for (char next = ','; next == ',';) {
    at = skip_space(text, at);
    const std::size_t end = end_of_value(text, at);
    if (end == std::string_view::npos) return end;
    const std::string_view value = text.substr(at, end - at);
    at = end;
    next = scan::separator(text, at, ']');
    if (next == 0) return std::string_view::npos;
    element(value);
  }
  return at;
}

template <class Member>
bool for_each_member(std::string_view object, Member&& member) {
  return take_members(object, [&](std::string_view key, std::string_view rest) {
    const std::size_t size = end_of_value(rest, 0);
    if (size != std::string_view::npos) member(key, rest.substr(0, size));
    return size;
  });
}

template <class Element>
bool for_each_element(std::string_view array, Element&& element) {
  array.remove_prefix(skip_space(array, 0));
  const std::size_t size = take_elements(array, element);
  return size != std::string_view::npos && skip_space(array, size) == array.size();
}

}  // namespace tangram::json
