#pragma once

#include "config/config.hpp"
#include "extender/admission/translation.hpp"
#include "model/request_rules.hpp"

namespace tangram::extender {

/// How pods are admitted. The meaning of each stands in docs/configuration.md, section admission.
struct AdmissionSettings : config::Config::Admission {
  OtherSystems other_systems;  ///< whose requests are translated
  model::RequestRules requests;
};

[[nodiscard]] inline AdmissionSettings admission_settings(const config::Config& config) {
  return {config.admission, config.foreign, config.scheduler.requests()};
}

}  // namespace tangram::extender
