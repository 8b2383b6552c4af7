#pragma once

#include <yaml-cpp/node/node.h>

#include <optional>
#include <string>
#include <vector>

namespace tangram::cli {

/// A pod, or a template of pods, in an object.
struct PodTemplate {
  YAML::Node node;   ///< a part of the object
  std::string path;  ///< "spec.workerGroupSpecs[0].template"; "" = the object is a Pod
};

/// The pods that an object creates, by its kind and its API group.
/// @returns nothing if the kind is not known
std::optional<std::vector<PodTemplate>> pod_templates(const YAML::Node& object);

/// Of a List; else none.
[[nodiscard]] std::vector<YAML::Node> items_of(const YAML::Node& object);
/// Whether pod_templates() can find any in a document, or in an item of a List.
/// @param raw  as of read_raw()
[[nodiscard]] bool may_have_templates(const YAML::Node& raw);
/// The kinds, for help texts: "Pod, ReplicationController, ...".
[[nodiscard]] std::string kinds_with_templates();

/// "Job train" of an object, for messages.
[[nodiscard]] std::string kind_and_name(const YAML::Node& object);
/// Its name, or its generateName with a star; "" if it has none.
[[nodiscard]] std::string object_name(const YAML::Node& object);

/// The text of a member; "" if there is none.
[[nodiscard]] std::string text_of(const YAML::Node& object, const std::string& member);

}  // namespace tangram::cli
