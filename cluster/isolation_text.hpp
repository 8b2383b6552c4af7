#pragma once

#include "model/request.hpp"

#include <string_view>

namespace tangram::cluster {

/// The mode of replicas, which their pods do not choose.
inline constexpr std::string_view kIsolationOfTheNode = "of the node";

/// The isolation mode of a request, for people and in JSON.
[[nodiscard]] inline std::string_view isolation_text(const model::GpuRequest& request) {
  return request.asks_replicas() ? kIsolationOfTheNode : to_string(request.isolation);
}

}  // namespace tangram::cluster
