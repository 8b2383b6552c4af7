#include "extender/admission/settings.hpp"

namespace tangram::extender {

AdmissionSettings admission_settings(const config::Config& config) {
  const auto& admission = config.admission;
  AdmissionSettings settings;
  settings.default_isolation = config.scheduler.default_isolation;
  const auto& foreign = config.foreign;
  settings.other_systems = {.nvidia = foreign.nvidia,
                            .hami = foreign.hami,
                            .gpushare = foreign.gpushare,
                            .kai = foreign.kai,
                            .gpushare_in_mib = foreign.gpushare_in_mib};
  settings.scheduler_name = admission.scheduler_name;
  settings.replaced_schedulers = admission.replaced_schedulers;
  settings.runtime_class = admission.runtime_class;
  settings.node_selector = admission.node_selector;
  settings.aggregates = admission.aggregates;
  settings.allow_visible_devices = admission.allow_visible_devices;
  settings.card_resources = admission.card_resources;
  settings.extender_user = admission.extender_user;
  return settings;
}

}  // namespace tangram::extender
