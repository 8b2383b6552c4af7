#include "cli/cluster_settings.hpp"
#include "cli/doctor/checks.hpp"
#include "cli/json_path.hpp"
#include "cli/words.hpp"
#include "kube/lease.hpp"

#include <charconv>
#include <chrono>
#include <optional>
#include <string_view>

namespace tangram::cli {

namespace {

constexpr const char* kSubject = "extender";
/// leader_election's longest usual duration twice, and as much for clocks that differ.
constexpr std::chrono::seconds kLeaseIsOld{60};
/// Beyond it docs/why-pending.md calls the ledger old.
constexpr double kMostLagSeconds = 120;
/// Through the API server to the leader's plain listener; the other one wants a client certificate.
constexpr const char* kMetricsPath = "/services/tangram-extender:metrics/proxy/metrics";

std::string logs(const Installation& installation) {
  return "kubectl --namespace " + installation.system_namespace +
         " logs -l app.kubernetes.io/name=tangram-extender --tail=50";
}

/// @returns whether there is one
bool check_deployment(const Installation& installation, Report& report) {
  const Reading read = look(installation.api, system_path(installation, "/apis/apps/v1") +
                                                  "/deployments/" + kExtenderName);
  if (read.outcome == Reading::Outcome::kMissing) {
    report.push_back(
        {Level::kFail, kSubject,
         std::string("no Deployment ") + kExtenderName + " in " + installation.system_namespace,
         "install it: deploy/scheduler/README.md; if it is elsewhere, say so with "
         "--system-namespace"});
    return false;
  }
  if (!read.found()) {
    add_unseen(report, kSubject, read);
    return true;
  }
  const auto wanted = number_at(read.text, {"spec", "replicas"}).value_or(1);
  const auto ready = number_at(read.text, {"status", "readyReplicas"}).value_or(0);
  const Level level = ready == 0 ? Level::kFail : ready < wanted ? Level::kWarn : Level::kOk;
  report.push_back({level, kSubject,
                    std::to_string(ready) + " of " + std::to_string(wanted) + " replicas ready",
                    level == Level::kOk ? "" : logs(installation)});
  return true;
}

void check_leader_label(const Installation& installation, Report& report) {
  std::vector<std::string> leaders;
  const Reading read =
      look(installation.api, system_path(installation, "/api/v1") + "/pods",
           {{"labelSelector", "app.kubernetes.io/name=tangram-extender,tangram.dev/role=leader"}});
  if (!read.found()) return add_unseen(report, kSubject, read);
  for_each_at(read.text, {"items"}, [&](std::string_view pod) {
    leaders.push_back(text_at(pod, {"metadata", "name"}));
  });
  if (leaders.size() == 1) {
    report.push_back({Level::kOk, kSubject, leaders.front() + " leads", ""});
  } else if (leaders.empty()) {
    report.push_back({Level::kFail, kSubject, "no pod has the label tangram.dev/role: leader",
                      "a leader is elected within half a minute; if not, the log says why: " +
                          logs(installation)});
  } else {
    report.push_back({Level::kFail, kSubject,
                      "several pods are labelled leader: " + joined(leaders),
                      "a replica that leads no more takes the label off; one that cannot lacks the "
                      "right to patch its pod: " +
                          logs(installation)});
  }
}

void check_service(const Installation& installation, Report& report) {
  const Reading read =
      look(installation.api, system_path(installation, "/api/v1") + "/services/" + kExtenderName);
  const std::string subject = std::string("Service ") + kExtenderName;
  if (read.outcome == Reading::Outcome::kMissing) {
    report.push_back({Level::kFail, subject, "is not there, so kube-scheduler finds no extender",
                      "kubectl apply -f deploy/scheduler/service.yaml"});
    return;
  }
  if (!read.found()) return add_unseen(report, subject, read);
  const auto ready = ready_endpoints(installation, kExtenderName, report);
  if (!ready) return;
  const std::string address = text_at(read.text, {"spec", "clusterIP"});
  if (*ready == 0) {
    report.push_back(
        {Level::kFail, subject, address + ", and no endpoint is ready",
         "it selects the pod with the label tangram.dev/role: leader; see the lines of "
         "the extender"});
  } else {
    report.push_back({Level::kOk, subject,
                      address + ", " + counted(*ready, "endpoint") +
                          "; urlPrefix in kube-scheduler's configuration must name that address",
                      ""});
  }
}

void check_lease(const Installation& installation, Report& report) {
  constexpr const char* kLease = "Lease";
  const Reading read =
      look(installation.api,
           system_path(installation, "/apis/coordination.k8s.io/v1") + "/leases/" + kExtenderName);
  if (read.outcome == Reading::Outcome::kMissing) {
    report.push_back({Level::kFail, kLease, "nobody has ever held it",
                      "no replica leads, so no pod gets cards: " + logs(installation)});
    return;
  }
  if (!read.found()) return add_unseen(report, kLease, read);
  const auto lease = kube::read_lease(read.text);
  if (!lease) {
    report.push_back({Level::kFail, kLease, lease.error().message, "delete it: it is made anew"});
    return;
  }
  // Both are UTC in one form, so that texts compare as times.
  const bool old = lease->renew_time < rfc3339_micro(installation.clock.wall() - kLeaseIsOld);
  if (!lease->holder.empty() && !old) {
    report.push_back({Level::kOk, kLease, "held by " + lease->holder, ""});
    return;
  }
  report.push_back({Level::kFail, kLease,
                    lease->holder.empty() ? "nobody holds it"
                                          : lease->holder + " renewed it last at " +
                                                lease->renew_time + " by its own clock",
                    "no replica leads, or this machine's clock is wrong: " + logs(installation)});
}

/// Calls `take(labels, value)` for every series of the name; labels as they stand, with braces.
template <class Take>
void for_each_series(std::string_view page, std::string_view name, const Take& take) {
  while (!page.empty()) {
    const std::string_view line = page.substr(0, page.find('\n'));
    page.remove_prefix(std::min(page.size(), line.size() + 1));
    if (!line.starts_with(name)) continue;
    const std::string_view rest = line.substr(name.size());
    const std::size_t blank = rest.find_last_of(' ');
    if (rest.empty() || (rest.front() != '{' && rest.front() != ' ')) continue;
    double value = 0;
    const std::string_view number = rest.substr(blank + 1);
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
    if (error == std::errc()) take(rest.substr(0, blank), value);
  }
}

void check_asked(std::string_view page, Report& report) {
  double asked = 0;
  for_each_series(page, "tangram_extender_request_duration_seconds_count",
                  [&](std::string_view labels, double value) {
                    if (labels.find("\"filter\"") != std::string_view::npos) asked += value;
                  });
  if (asked > 0) {
    report.push_back(
        {Level::kOk, "scheduler",
         "kube-scheduler has asked the leader " + counted(static_cast<std::size_t>(asked), "time"),
         ""});
    return;
  }
  report.push_back({Level::kWarn, "scheduler",
                    "nobody has asked the leader about a pod since it started",
                    "fine if no GPU pod came meanwhile; else kube-scheduler does not know the "
                    "extender, or does not reach it: its log, and deploy/scheduler/README.md"});
}

void check_metrics(const Installation& installation, Report& report) {
  const Reading read = look(installation.api, system_path(installation, "/api/v1") + kMetricsPath);
  if (read.outcome == Reading::Outcome::kFailed) {
    report.push_back(
        {Level::kWarn, "metrics", "the leader's are out of reach: " + read.problem,
         "let the API server reach port 9090 of its pod: a NetworkPolicy, as "
         "deploy/scheduler/network-policy.yaml or the chart's networkPolicy.controlPlane, must "
         "name "
         "the API server's addresses; or look yourself: kubectl --namespace " +
             installation.system_namespace +
             " port-forward service/tangram-extender 9090, and curl -s localhost:9090/metrics"});
    return;
  }
  if (!read.found()) return add_unseen(report, "metrics", read);
  check_asked(read.text, report);
  for_each_series(read.text, "tangram_watch_lag_seconds",
                  [&](std::string_view labels, double value) {
                    if (value <= kMostLagSeconds) return;
                    report.push_back({Level::kFail, kSubject,
                                      "has not heard of the API server for " +
                                          std::to_string(static_cast<long>(value)) + " s " +
                                          std::string(labels),
                                      "the ledger is old: " + logs(installation)});
                  });
  for_each_series(
      read.text, "tangram_tls_certificate_expiry_timestamp_seconds",
      [&](std::string_view labels, double value) {
        const WallTime expires{std::chrono::seconds(static_cast<std::int64_t>(value))};
        check_expiry(
            installation,
            {.subject = "certificates",
             .finding = "the extender's certificate " + std::string(labels),
             .next = "put a new one into the Secret tangram-tls, or see why its issuer does "
                     "not: docs/tls.md"},
            expires, report);
      });
  for_each_series(
      read.text, "tangram_tls_reload_failures_total", [&](std::string_view labels, double value) {
        if (value <= 0) return;
        report.push_back({Level::kWarn, "certificates",
                          "changed files could not be used " + std::string(labels),
                          "the log says what is wrong with them: " + logs(installation)});
      });
}

}  // namespace

void check_extender(const Installation& installation, Report& report) {
  if (!check_deployment(installation, report)) return;
  check_leader_label(installation, report);
  check_service(installation, report);
  check_lease(installation, report);
  check_metrics(installation, report);
}

}  // namespace tangram::cli
