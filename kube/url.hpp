#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace tangram::kube {

/// One path segment or query value with everything but RFC 3986's unreserved characters as %XX.
[[nodiscard]] std::string percent_encode(std::string_view text);

/// The other way. @returns nothing for a '%' without two hex digits after it
[[nodiscard]] std::optional<std::string> percent_decode(std::string_view text);

}  // namespace tangram::kube
