#pragma once

#include "cli/api_reading.hpp"
#include "cli/cluster.hpp"
#include "cli/doctor/doctor.hpp"

#include <string>
#include <vector>

/// The parts of the examination, each adding its lines to the report. For doctor.cpp.
namespace tangram::cli {

void check_nodes(const Installation& installation, const Cluster& cluster, Report& report);
void check_agents(const Installation& installation, Report& report);
/// Pods that wait although no scheduler looks at them, and pods with findings.
void check_pods(const Installation& installation, const Cluster& cluster, Report& report);
void check_extender(const Installation& installation, Report& report);
void check_webhook(const Installation& installation, Report& report);
void check_rights(const Installation& installation, Report& report);

// What they share.

/// "/api/v1/namespaces/tangram-system", or with another group's prefix for "/apis/apps/v1".
[[nodiscard]] std::string system_path(const Installation& installation, const std::string& group);

/// "a, b, c and 4 more".
[[nodiscard]] std::string some_of(const std::vector<std::string>& names);

/// Adds a warning that something could not be looked at; for 403 with the role that may.
void add_unseen(Report& report, const std::string& subject, const Reading& reading);

/// How many endpoints of a Service take requests.
/// @returns nothing if that cannot be seen; the report says why
[[nodiscard]] std::optional<std::size_t> ready_endpoints(const Installation& installation,
                                                         const std::string& service,
                                                         Report& report);

/// Warns of a certificate that expires within two weeks, and fails for one that has.
/// @param check  subject, what the certificate is, and what to do about it; the rest is filled in
void check_expiry(const Installation& installation, Check check, WallTime expires, Report& report);

}  // namespace tangram::cli
