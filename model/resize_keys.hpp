#pragma once

#include "model/annotations.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace tangram::model {

/// The annotations of a request that may change once the pod is bound, also in the form for one
/// container: a change is a request to resize the pod.
inline constexpr std::array<std::string_view, 5> kResizeKeys{kFractionKey, kMemoryKey, kComputeKey,
                                                             kMemoryLimitKey, kComputeLimitKey};

/// "gpu-mem", or "gpu-mem.NAME" for the container NAME.
[[nodiscard]] constexpr bool is_resize_key(std::string_view key) {
  return std::ranges::find(kResizeKeys, key.substr(0, key.find('.'))) != kResizeKeys.end();
}

}  // namespace tangram::model
