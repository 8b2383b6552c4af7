#pragma once

#include "config/config.hpp"
#include "extender/admission/translation.hpp"
#include "model/grant_reading.hpp"
#include "model/request_rules.hpp"

#include <utility>

namespace tangram::extender {

/// How pods are admitted. The meaning of each stands in docs/configuration.md, section admission.
struct AdmissionSettings : config::Config::Admission {
  OtherSystems other_systems;  ///< whose requests are translated
  model::RequestRules requests;
  /// Whose signature a grant's text carries; empty = no keys are known.
  model::SignatureCheck check = {};
};

[[nodiscard]] inline AdmissionSettings admission_settings(const config::Config& config,
                                                          model::SignatureCheck check = {}) {
  return {config.admission, config.foreign, config.scheduler.requests(), std::move(check)};
}

}  // namespace tangram::extender
