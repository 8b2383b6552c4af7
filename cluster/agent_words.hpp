#pragma once

#include "kube/objects.hpp"

#include <string_view>

namespace tangram::cluster {

/// What the pod's node agent says about a container that does not start, from that mark on
/// (model::kCannotStart or kNotYet); empty = nothing.
///
/// Waiting messages also quote texts that the pod's author chooses: answers of registries, an
/// image's user, commands. Therefore a message counts only if kubelet's own words about the answer
/// of a device plugin stand before the mark, from the beginning. Who may write `pods/status` can
/// write any message.
/// @returns a view into the pod
[[nodiscard]] std::string_view agent_words(const kube::Pod& pod, std::string_view mark);

}  // namespace tangram::cluster
