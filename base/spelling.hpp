#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

/// Names in messages: what may be written, and what was probably meant.
namespace tangram {

/// "a, b or c"
[[nodiscard]] std::string alternatives(std::span<const std::string_view> names);

/// The known name that `name` is most likely a misspelling of: the fewest letters changed, added
/// or dropped, at most `most_edits`. Ties go to the first.
/// @returns empty if none is near, or `name` is longer than any name people write
[[nodiscard]] std::string_view nearest(std::string_view name,
                                       std::span<const std::string_view> known,
                                       std::size_t most_edits);

}  // namespace tangram
