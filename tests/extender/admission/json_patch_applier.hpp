#pragma once

#include <string>

namespace tangram::testing {

/// Applies a JSON patch (RFC 6902: add and remove), strictly, by a document tree: shares no code
/// with what writes patches. @throws std::runtime_error if an operation cannot be carried out
[[nodiscard]] std::string apply_json_patch(const std::string& document, const std::string& patch);

}  // namespace tangram::testing
