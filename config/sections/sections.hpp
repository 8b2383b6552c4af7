#pragma once

#include "config/settings.hpp"

/// The sections of the settings table. sections() has them in order.
namespace tangram::config {

extern const std::span<const Section> kServerSections;     ///< server, tls, webhook, metrics
extern const std::span<const Section> kSchedulerSections;  ///< scheduler, bind
extern const std::span<const Section>
    kClusterSections;                                   ///< kube, leader_election, eviction, grants
extern const std::span<const Section> kPolicySections;  ///< fragmentation, bestfit
extern const std::span<const Section> kAdmissionSections;  ///< admission, foreign, log

}  // namespace tangram::config
