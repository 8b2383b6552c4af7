#pragma once

#include <cstddef>
#include <string_view>

/// Finds where an object or array ends: most of the time that passing over unread text takes, such
/// as metadata.managedFields. Internal to json_scan.
namespace tangram::json {

/// Where the object or array ends whose opening bracket is at `at`; npos if the text ends before.
[[nodiscard]] std::size_t end_of_container(std::string_view text, std::size_t at);

/// The same without AVX2, which not every processor has. Takes twice as long.
[[nodiscard]] std::size_t end_of_container_without_avx2(std::string_view text, std::size_t at);

}  // namespace tangram::json
