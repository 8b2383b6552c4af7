#pragma once

#include "config/config.hpp"
#include "extender/admission/translation.hpp"
#include "model/isolation.hpp"

namespace tangram::extender {

/// How pods are admitted. The meaning of each stands in docs/configuration.md, section admission.
struct AdmissionSettings : config::Config::Admission {
  OtherSystems other_systems;                                   ///< whose requests are translated
  model::Isolation default_isolation = model::Isolation::kMps;  ///< of pods that choose none
};

[[nodiscard]] inline AdmissionSettings admission_settings(const config::Config& config) {
  return {config.admission, config.foreign, config.scheduler.default_isolation};
}

}  // namespace tangram::extender
