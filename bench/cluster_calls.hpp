#pragma once

#include "base/result.hpp"
#include "bench/objects.hpp"
#include "kube/api.hpp"

#include <string>
#include <vector>

/// Calls to the API server that play users and nodes. Every call blocks.
/// @returns the KubeApi's error; kConflict, with the server's message, for another status than the
///          expected one
namespace tangram::bench {

/// The body of a reply with the expected status.
Result<std::string> call(kube::KubeApi& api, const kube::Request& request, int expected);

/// The objects of a collection, each as its own text.
Result<std::vector<std::string>> list(kube::KubeApi& api, const std::string& path);

Result<void> create_node(kube::KubeApi& api, const model::NodeInventory& node);
/// Replaces the cards annotation of the node, as its agent does.
Result<void> publish_cards(kube::KubeApi& api, const model::NodeInventory& node);

/// The object as the server stores it.
Result<std::string> create_pod(kube::KubeApi& api, const std::string& ns, const std::string& json);
/// At once, without a grace period: no kubelet runs these pods.
Result<void> delete_pod(kube::KubeApi& api, const std::string& ns, const std::string& name);

}  // namespace tangram::bench
