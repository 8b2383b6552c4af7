#pragma once

#include "base/result.hpp"
#include "kube/local/yaml_to_json.hpp"

#include <yaml-cpp/node/node.h>

#include <string>

/// A YAML document that is changed and printed again. Its values keep the form in which they were
/// written, so that kubectl reads them as it would have: `0644`, `"0644"`, `yes`. Comments are
/// lost.
namespace tangram::cli {

struct YamlTree {
  YAML::Node root;
};

/// The document as it is written: nodes can be shared, and merge keys are members.
/// @returns kInvalidArgument: "line 7: ...", of the text that the document is from
Result<YamlTree> read_raw(const kube::YamlDocument& document);

/// Every value is a node of its own: aliases are written out, and merge keys (`<<`) merged.
/// @returns as above; also if a key stands twice, or the whole is too deep or too large
Result<YamlTree> read_tree(const kube::YamlDocument& document);

/// The document, with a line's end behind it.
[[nodiscard]] std::string write_tree(const YAML::Node& tree);

/// Applies what extender::JsonPatch writes: additions to maps, elements at the end of lists, and
/// removals. Maps that are missing above an added one are made.
void apply_patch(const YAML::Node& tree, const std::string& patch);

}  // namespace tangram::cli
