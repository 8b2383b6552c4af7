#pragma once

#include "base/one_line.hpp"
#include "cli/api_reading.hpp"
#include "cli/cluster.hpp"
#include "cli/doctor/doctor.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

/// The parts of the examination. For doctor.cpp.
namespace tangram::cli {

/// What is examined, and the report to which each part adds its lines.
struct Examination {
  const Installation& installation;
  Report& report;

  /// Each text as one_line(): events, names and answers in them are texts of others.
  void add(const Check& check) const {
    report.push_back(
        {check.level, one_line(check.subject), one_line(check.finding), one_line(check.next)});
  }
  void ok(const std::string& subject, const std::string& finding) const {
    add({Level::kOk, subject, finding, ""});
  }
  void warn(const std::string& subject, const std::string& finding, const std::string& next) const {
    add({Level::kWarn, subject, finding, next});
  }
  void fail(const std::string& subject, const std::string& finding, const std::string& next) const {
    add({Level::kFail, subject, finding, next});
  }
  /// Warns that something cannot be read; for 403 with the role that allows it.
  void unreadable(const std::string& subject, const Reading& reading) const;

  /// Reports why there is no object to check: `missing`, or that it cannot be read.
  void no_object(const Reading& reading, const Check& missing) const;

  /// GETs objects of Tangram's namespace.
  /// @param group  the API's path: "/api/v1", "/apis/apps/v1"
  /// @param what   "/pods", "/services/tangram-extender"
  [[nodiscard]] Reading get(const std::string& group, const std::string& what,
                            const Query& query = {}) const;
  /// How many endpoints of a Service are ready.
  /// @returns nothing if that cannot be read; the report says why
  [[nodiscard]] std::optional<std::size_t> ready_endpoints(const std::string& service) const;
  /// Warns of a certificate that expires within two weeks, and fails for one that has expired.
  void check_expiry(const std::string& subject, const std::string& certificate, WallTime expires,
                    const std::string& next) const;
  /// "kubectl --namespace tangram-system"
  [[nodiscard]] std::string kubectl() const;
};

void check_nodes(const Examination& examination, const Cluster& cluster);
void check_agents(const Examination& examination);
/// The pods of DaemonSet tangram-mps, if there is one.
void check_mps_pods(const Examination& examination);
/// Pending pods that no scheduler handles, and pods with findings.
void check_pods(const Examination& examination, const Cluster& cluster);
void check_extender(const Examination& examination, const ClusterSettings& settings);
/// The name of the extender's plain port in its Service.
inline constexpr const char* kMetricsPort = "metrics";
/// The port of the Service that kube-scheduler calls.
/// @param service  the Service's text
/// @returns nothing if it has none
[[nodiscard]] std::optional<std::int64_t> served_port(const std::string& service);
/// Whether kube-scheduler and the API server reach the ports at which the extender listens.
/// @param deployment  the extender's
void check_ports(const Examination& examination, const std::string& deployment,
                 const config::Config& config);
/// Grants that no known key signed, where the extender signs.
void check_grants(const Examination& examination, const Cluster& cluster,
                  const ClusterSettings& settings);
void check_webhook(const Examination& examination);
/// Whether the label tangram.dev/admission: enabled is enforced where namespaces have it.
/// @param minor  of the API server's version
void check_hidden_cards(const Examination& examination, int minor);
/// What the service accounts may do, as the extender's settings need it.
void check_rights(const Examination& examination, const ClusterSettings& settings);

/// When the last of the certificates in a PEM text expires: a bundle of CAs is valid as long as one
/// of them is.
/// @returns kInvalidArgument if there is none
[[nodiscard]] Result<WallTime> last_expiry(std::string_view pem);

/// "a, b, c and 4 more".
[[nodiscard]] std::string some_of(const std::vector<std::string>& names);

}  // namespace tangram::cli
