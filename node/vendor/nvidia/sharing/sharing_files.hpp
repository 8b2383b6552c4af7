#pragma once

#include "base/result.hpp"
#include "node/cards/card_sharing.hpp"
#include "node/vendor/nvidia/sharing/sharing_file.hpp"

#include <map>
#include <string>
#include <string_view>

namespace tangram::node::nvidia {

/// Configuration files by name: the keys of a ConfigMap, which is mounted as a folder. A file with
/// a mistake stands for its error: it concerns only the nodes that it is for.
using SharingFiles = std::map<std::string, Result<SharingFile>, std::less<>>;

/// Reads every file of the folder; names with a leading dot are Kubernetes' own.
/// @returns kUnavailable if the folder cannot be read
Result<SharingFiles> read_sharing_files(const std::string& folder);

/// Which file applies where the Node has no label: the one that is given, else "default", else the
/// only one. As in NVIDIA's chart.
/// @returns kInvalidArgument if there is none, or it has a mistake
Result<std::string> default_file(const SharingFiles& files, const std::string& given);

/// The file that a node goes by.
struct ChosenFile {
  const SharingFile& file;
  std::string problem;  ///< why the default applies although the node has a label; "" = none
};
/// @param default_name  of default_file()
/// @param choice        the Node's label; "" = none
[[nodiscard]] ChosenFile chosen_file(const SharingFiles& files, const std::string& default_name,
                                     std::string_view choice);

/// The rule of these files. Where a label names no file, or one with a mistake, the default
/// applies, and that is reported.
/// @param default_name  of default_file()
[[nodiscard]] CardSharing sharing_by(SharingFiles files, std::string default_name);

}  // namespace tangram::node::nvidia
