#pragma once

#include "model/request.hpp"
#include "model/request_texts.hpp"

#include <string_view>

namespace tangram::model {

/// Reads what one container's annotations ask of each of its cards. For parse_request().
/// What is wrong is noted in `mistakes`, and the result is then of no use.
/// @param texts  not empty
[[nodiscard]] ContainerRequest parse_share(std::string_view container, const WrittenByKey& texts,
                                           const RequestRules& rules, Mistakes& mistakes);

}  // namespace tangram::model
