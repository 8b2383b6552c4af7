#pragma once

#include "config/settings.hpp"

/// The sections of the settings table, one declaration each. sections() has them in order.
namespace tangram::config {

extern const Section kServerSection;
extern const Section kTlsSection;
extern const Section kWebhookSection;
extern const Section kMetricsSection;
extern const Section kSchedulerSection;
extern const Section kBindSection;
extern const Section kKubeSection;
extern const Section kLeaderElectionSection;
extern const Section kEvictionSection;
extern const Section kGrantsSection;
extern const Section kFragmentationSection;
extern const Section kBestfitSection;
extern const Section kAdmissionSection;
extern const Section kForeignSection;
extern const Section kLogSection;

}  // namespace tangram::config
