#pragma once

#include "base/result.hpp"

#include <string>
#include <vector>

namespace tangram::kube {

/// One API object of a YAML text.
struct YamlObject {
  std::string json;
  int line = 0;  ///< where it begins, from 1
};

/// Every object of a YAML text of one or more documents; of a `kind: List`, its items.
///
/// Plain scalars that look like null, true, false or a number become such; everything under labels,
/// annotations and the resource maps (requests, limits, capacity, allocatable, overhead) is a
/// string, quoted or not.
/// @returns kInvalidArgument: "line 7: ..."
Result<std::vector<YamlObject>> yaml_to_json(const std::string& text);

}  // namespace tangram::kube
