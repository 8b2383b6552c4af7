#pragma once

#include "base/result.hpp"
#include "kube/api.hpp"

#include <string>
#include <vector>

/// What the player says to the API server. Every call blocks.
namespace tangram::bench::demo {

/// The body of an answer with the expected status.
/// @returns the KubeApi's error; kConflict, with the server's message, for another status
Result<std::string> call(kube::KubeApi& api, const kube::Request& request, int expected);

/// The objects of a collection, each as its own text.
Result<std::vector<std::string>> list(kube::KubeApi& api, const std::string& path);

/// The object as the server stores it.
Result<std::string> create_pod(kube::KubeApi& api, const std::string& ns, const std::string& json);
/// At once, without a grace period: nobody runs these pods.
Result<void> delete_pod(kube::KubeApi& api, const std::string& ns, const std::string& name);

/// The ids in a tangram.dev/cards annotation, in its order.
/// @returns kInvalidArgument if it cannot be read
Result<std::vector<std::string>> card_ids(std::string cards);

}  // namespace tangram::bench::demo
