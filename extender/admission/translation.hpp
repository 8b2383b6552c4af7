#pragma once

#include "config/config.hpp"
#include "kube/pod_manifest.hpp"
#include "model/request.hpp"

#include <array>
#include <string>
#include <string_view>
#include <vector>

/// Translates requests to other GPU sharing systems into Tangram's annotations. docs/migration.md
/// lists what each request becomes, and what cannot be translated.
namespace tangram::extender {

/// The systems whose requests are translated; others' are left alone.
using OtherSystems = config::Config::Foreign;

/// What is read of a pod's labels, whatever is switched on.
inline constexpr std::string_view kGpushareCountLabel = "aliyun.com/gpu-count";
inline constexpr std::string_view kKaiQueueLabel = "kai.scheduler/queue";
inline constexpr std::array kTranslatedLabels{kGpushareCountLabel, kKaiQueueLabel};

/// The translation of a pod's requests.
struct Translation {
  kube::StringMap annotations;  ///< to add, by full name: Tangram's own
  std::vector<std::string>
      resources;  ///< names to take out of every container's limits and requests
  /// Why it cannot be translated, each with what to write; of these and of the warnings the first
  /// kMaxNotes.
  std::vector<std::string> mistakes;
  std::size_t more_mistakes = 0;
  std::vector<std::string> warnings;  ///< what differs from the other system

  [[nodiscard]] bool empty() const {
    return annotations.empty() && resources.empty() && mistakes.empty();
  }
};

/// Pure. A pod without such requests, or only of systems that are switched off, gives an empty
/// translation. So does a pod that was translated before: other systems' annotations stay where
/// they are, beside the ones of Tangram's that were made from them.
///
/// With mistakes, nothing is added or taken out.
/// @param max_burst  of model::RequestRules: systems that limit no compute get as much as it allows
[[nodiscard]] Translation translate(const kube::PodManifest& pod, const OtherSystems& systems,
                                    int max_burst = 0);

/// What to write so that a request counts in a quota: for a request that may be translated, in the
/// words of its manifest.
/// @param pod       with the request; other systems' resources are gone
/// @param resource  the quota's
/// @param plain     what to write in Tangram's annotations
[[nodiscard]] std::string counting_advice(const kube::PodManifest& pod, const model::Share& share,
                                          std::string_view resource, const OtherSystems& systems,
                                          std::string plain);

}  // namespace tangram::extender
