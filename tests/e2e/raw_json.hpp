#pragma once

#include "base/rapidjson.hpp"
#include "kube/api.hpp"

#include <map>
#include <set>
#include <string>

/// Reads Kubernetes objects for the checkers and tests. The parser is not the product's, so that
/// the checkers detect its mistakes. Only for .cpp files.
namespace tangram::e2e {

using StringMap = std::map<std::string, std::string>;

/// @throws std::runtime_error with the text
[[nodiscard]] rapidjson::Document parse_json(const std::string& text);

/// The body of a list, or of one object. @throws std::runtime_error if there is none
[[nodiscard]] std::string list_all(kube::KubeApi& api, const std::string& path);

/// A string member; "" if there is none.
[[nodiscard]] std::string text_of(const rapidjson::Value& object, const char* key);

/// Annotations under tangram.dev/, without the prefix.
[[nodiscard]] StringMap annotations_of(const rapidjson::Value& object);

/// The containers with a slot: those of spec.containers and sidecars.
[[nodiscard]] std::set<std::string> containers_with_slot(const rapidjson::Value& pod);

}  // namespace tangram::e2e
