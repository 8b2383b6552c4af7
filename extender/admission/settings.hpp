#pragma once

#include "config/config.hpp"
#include "extender/admission/translation.hpp"
#include "model/card.hpp"

#include <string>
#include <vector>

namespace tangram::extender {

/// How pods are admitted. The meaning of each stands in docs/configuration.md, section admission.
struct AdmissionSettings {
  model::Isolation default_isolation = model::Isolation::kMps;  ///< of pods that choose none
  OtherSystems other_systems;                                   ///< whose requests are translated
  std::string scheduler_name;
  std::vector<std::string> replaced_schedulers;
  std::string runtime_class;
  bool node_selector = false;
  bool aggregates = true;
  bool allow_visible_devices = false;
  /// Resources that stand for cards of another GPU system, by full name, or up to a star at the end
  std::vector<std::string> card_resources;
  std::string extender_user;  ///< the only user that may write grants
};

[[nodiscard]] AdmissionSettings admission_settings(const config::Config& config);

}  // namespace tangram::extender
