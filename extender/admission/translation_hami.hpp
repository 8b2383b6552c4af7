#pragma once

#include "extender/admission/translation_reading.hpp"

#include <string>
#include <string_view>
#include <vector>

/// What HAMi adds to NVIDIA's resources: parts of cards, and annotations about which cards. For
/// read_nvidia(); others use that.
namespace tangram::extender::translation {

/// Does the pod have a resource or annotation that only HAMi has? Its nvidia.com/gpu is HAMi's
/// then, too.
[[nodiscard]] bool uses_hami(const kube::PodManifest& pod);

/// The first of the container's resources that only HAMi has; empty = none.
[[nodiscard]] std::string_view hami_amount(const kube::ContainerManifest& container);

void take_out_hami_amounts(const kube::ContainerManifest& container, Reading& reading);

/// HAMi's amounts as a share of each card. @returns false after a mistake
bool read_hami_share(const kube::ContainerManifest& container, TranslatedRequest& request,
                     Reading& reading);

/// What the annotations require of models, as globs on Tangram's.
struct ModelGlobs {
  std::vector<std::string> included;
  std::vector<std::string> excluded;  ///< "!" + glob
  std::string source;                 ///< for messages; empty = they require nothing
};
/// Reads HAMi's annotations; those about other things than models become preferences.
ModelGlobs read_hami_annotations(const kube::PodManifest& pod, Reading& reading);

}  // namespace tangram::extender::translation
