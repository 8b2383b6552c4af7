#pragma once

#include "base/result.hpp"
#include "model/card.hpp"

#include <map>
#include <string>
#include <string_view>
#include <vector>

/// The configuration file of NVIDIA's device plugin, as far as it says what pods get that ask for
/// nvidia.com/gpu. Source: README.md and api/config/v1 of github.com/NVIDIA/k8s-device-plugin.
namespace tangram::node::nvidia {

enum class MigStrategy { kNone, kSingle, kMixed };

struct SharingFile {
  enum class Strategy { kNone, kTimeSlicing, kMps };

  MigStrategy mig = MigStrategy::kNone;
  Strategy strategy = Strategy::kNone;
  bool renamed = false;             ///< renameByDefault: replicas are RESOURCE.shared
  bool fail_more_than_one = false;  ///< failRequestsGreaterThanOne; of MPS always
  std::map<std::string, int, std::less<>> replicas;  ///< by resource: {"nvidia.com/gpu", 4}
  std::vector<std::string> ignored;                  ///< members that have no effect, for people

  friend bool operator==(const SharingFile&, const SharingFile&) = default;
};

/// Members of the file that do not concern sharing are passed over, as they configure the plugin.
/// @param text  YAML or JSON
/// @returns kInvalidArgument, with what to write
Result<SharingFile> parse_sharing_file(const std::string& text);

/// What a pod gets of the card that counts cards.
[[nodiscard]] model::Replicas replicas_of(const SharingFile& file, const model::Card& card);

}  // namespace tangram::node::nvidia
