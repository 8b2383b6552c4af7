#pragma once

#include <cstddef>
#include <initializer_list>
#include <string_view>
#include <vector>

/// Cuts a JSON text into its parts without decoding them: several times as fast as json::Reader,
/// for passing parts on whole. Where a part begins and ends is found by quotes and brackets alone,
/// so a part may be no JSON inside; its decoder will see.
///
/// For every text that json::Reader accepts the parts are exactly its values.
namespace tangram::json {

/// Where the value that begins at `at` ends; npos if the text ends before, or nothing begins there.
[[nodiscard]] std::size_t end_of_value(std::string_view text, std::size_t at);

/// The first place from `at` on that is no white space; text.size() if there is none.
[[nodiscard]] std::size_t skip_space(std::string_view text, std::size_t at);

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

// ---- how ----

namespace scan {

/// The bracket that opens the text, and what follows up to the closing one at its very end.
struct Body {
  bool null = false;
  bool good = false;
  std::string_view inside;  ///< with the closing bracket
};
[[nodiscard]] Body open(std::string_view text, char open, char close);

/// One value from `at` on, which moves behind it and the comma or closing bracket that follows.
struct Part {
  bool good = false;
  bool last = false;  ///< the closing bracket follows
  std::string_view value;
};
[[nodiscard]] Part next(std::string_view inside, std::size_t& at, char close);

/// A key and its colon.
[[nodiscard]] bool next_key(std::string_view inside, std::size_t& at, std::string_view& key);

/// Nothing stands between the brackets.
[[nodiscard]] bool empty(std::string_view inside);

}  // namespace scan

template <class Member>
bool for_each_member(std::string_view object, Member&& member) {
  const scan::Body body = scan::open(object, '{', '}');
  if (!body.good || body.null || scan::empty(body.inside)) return body.good;
  for (std::size_t at = 0;;) {
    std::string_view key;
    if (!scan::next_key(body.inside, at, key)) return false;
    const scan::Part part = scan::next(body.inside, at, '}');
    if (!part.good) return false;
    member(key, part.value);
    if (part.last) return at == body.inside.size();
  }
}

template <class Element>
bool for_each_element(std::string_view array, Element&& element) {
  const scan::Body body = scan::open(array, '[', ']');
  if (!body.good || body.null || scan::empty(body.inside)) return body.good;
  for (std::size_t at = 0;;) {
    const scan::Part part = scan::next(body.inside, at, ']');
    if (!part.good) return false;
    element(part.value);
    if (part.last) return at == body.inside.size();
  }
}

}  // namespace tangram::json
