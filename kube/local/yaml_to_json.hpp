#pragma once

#include "base/result.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tangram::kube {

/// One API object of a YAML text.
struct YamlObject {
  std::string json;
  int line = 0;  ///< where it begins, from 1
};

/// How scalars are read under labels, annotations and the resource maps (requests, limits,
/// capacity, allocatable, overhead).
enum class YamlMaps {
  kTexts,      ///< as strings, quoted or not
  kAsWritten,  ///< as everywhere else
};

/// Every object of a YAML text of one or more documents; of a `kind: List`, its items.
///
/// Plain scalars that look like null, true, false or a number become such.
/// @returns kInvalidArgument: "line 7: ..."
Result<std::vector<YamlObject>> yaml_to_json(const std::string& text,
                                             YamlMaps maps = YamlMaps::kTexts);

/// One document of a YAML text.
struct YamlDocument {
  std::string text;    ///< without the marker
  int first_line = 1;  ///< in the text, from 1
};
/// The documents of a text, between "---" and "..."; some may be empty.
[[nodiscard]] std::vector<YamlDocument> split_yaml(std::string_view text);

/// Bytes that a document may have when its aliases are written out, since these let a short text
/// stand for a huge one.
[[nodiscard]] std::size_t most_written_out(std::string_view text);

}  // namespace tangram::kube
