#include "cli/cluster_settings.hpp"
#include "cli/doctor/checks.hpp"
#include "cli/format.hpp"
#include "cli/json_path.hpp"
#include "kube/lease.hpp"

#include <charconv>
#include <chrono>
#include <string_view>

namespace tangram::cli {

namespace {

constexpr const char* kSubject = "extender";
/// Twice the usual lease duration, and as much again for clock skew.
constexpr std::chrono::seconds kLeaseIsOld{60};
/// From here on docs/why-pending.md calls the ledger out of date.
constexpr double kMostLagSeconds = 120;
/// The API server's proxy to the leader's plain listener: the other one requires a client
/// certificate.
constexpr const char* kMetricsPath = "/services/tangram-extender:metrics/proxy/metrics";

std::string logs(const Examination& examination) {
  return examination.kubectl() + " logs -l app.kubernetes.io/name=tangram-extender --tail=50";
}

void check_deployment(const Examination& examination, const Reading& read) {
  if (!read.found()) {
    return examination.no_object(read, {Level::kFail, kSubject,
                                        std::string("no Deployment ") + kExtenderName + " in " +
                                            examination.installation.system_namespace,
                                        "install it: deploy/scheduler/README.md; if it is in "
                                        "another namespace, give --system-namespace"});
  }
  const auto wanted = number_at(read.text, {"spec", "replicas"}).value_or(1);
  const auto ready = number_at(read.text, {"status", "readyReplicas"}).value_or(0);
  const std::string text =
      std::to_string(ready) + " of " + std::to_string(wanted) + " replicas ready";
  if (ready >= wanted && ready > 0) {
    examination.ok(kSubject, text);
  } else {
    examination.add({ready == 0 ? Level::kFail : Level::kWarn, kSubject, text, logs(examination)});
  }
}

void check_leader_label(const Examination& examination) {
  std::vector<std::string> leaders;
  const Reading read = examination.get(
      "/api/v1", "/pods",
      {{"labelSelector", "app.kubernetes.io/name=tangram-extender,tangram.dev/role=leader"}});
  if (!read.found()) return examination.unreadable(kSubject, read);
  for_each_at(read.text, {"items"}, [&](std::string_view pod) {
    leaders.push_back(text_at(pod, {"metadata", "name"}));
  });
  if (leaders.size() == 1) return examination.ok(kSubject, leaders.front() + " is the leader");
  if (leaders.empty()) {
    return examination.fail(
        kSubject, "no pod has the label tangram.dev/role: leader",
        "the replicas elect a leader within 30 s; if not, see the log: " + logs(examination));
  }
  examination.fail(kSubject,
                   "several pods have the label tangram.dev/role: leader: " + joined(leaders),
                   "a replica that is no longer leader removes the label, for which it needs the "
                   "right to patch its pod: " +
                       logs(examination));
}

void check_service(const Examination& examination) {
  const Reading read = examination.get("/api/v1", std::string("/services/") + kExtenderName);
  const std::string subject = std::string("Service ") + kExtenderName;
  if (!read.found()) {
    return examination.no_object(
        read, {Level::kFail, subject, "does not exist, so kube-scheduler cannot reach the extender",
               "kubectl apply -f deploy/scheduler/service.yaml"});
  }
  const auto ready = examination.ready_endpoints(kExtenderName);
  if (!ready) return;
  std::string address = text_at(read.text, {"spec", "clusterIP"});
  if (const auto port = served_port(read.text)) address += ":" + std::to_string(*port);
  if (*ready == 0) {
    return examination.fail(subject, address + ", no endpoint is ready",
                            "it selects the pod with the label tangram.dev/role: leader; see the "
                            "lines of the extender");
  }
  examination.ok(
      subject, address + ", " + counted(*ready, "endpoint") +
                   "; urlPrefix in kube-scheduler's configuration must name that address and port");
}

void check_lease(const Examination& examination) {
  constexpr const char* kLease = "Lease";
  const Reading read =
      examination.get("/apis/coordination.k8s.io/v1", std::string("/leases/") + kExtenderName);
  if (!read.found()) {
    return examination.no_object(
        read, {Level::kFail, kLease, "does not exist: no replica has been leader yet",
               "without a leader no pod gets cards: " + logs(examination)});
  }
  const auto lease = kube::read_lease(read.text);
  if (!lease) {
    return examination.fail(kLease, lease.error().message,
                            "delete it; the next leader creates it again");
  }
  const std::string next =
      "there is no leader, or this machine's clock is wrong: " + logs(examination);
  if (lease->holder.empty()) return examination.fail(kLease, "has no holder", next);
  // Both are UTC in one form, so that texts compare as times.
  if (lease->renew_time < rfc3339_micro(examination.installation.clock.wall() - kLeaseIsOld)) {
    return examination.fail(
        kLease, lease->holder + " last renewed it at " + lease->renew_time + " by its own clock",
        next);
  }
  examination.ok(kLease, "held by " + lease->holder);
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

void check_scheduler_calls(const Examination& examination, std::string_view page) {
  double calls = 0;
  for_each_series(page, "tangram_extender_request_duration_seconds_count",
                  [&](std::string_view labels, double value) {
                    if (labels.find("\"filter\"") != std::string_view::npos) calls += value;
                  });
  if (calls > 0) {
    return examination.ok("scheduler", "kube-scheduler has called the leader " +
                                           counted(static_cast<std::size_t>(calls), "time"));
  }
  examination.warn("scheduler", "the leader has received no filter request since it started",
                   "expected if no GPU pod was created since; otherwise check kube-scheduler's log "
                   "and configuration: deploy/scheduler/README.md");
}

void check_watches(const Examination& examination, std::string_view page) {
  for_each_series(page, "tangram_watch_lag_seconds", [&](std::string_view labels, double value) {
    if (value <= kMostLagSeconds) return;
    examination.fail(kSubject,
                     "the last watch event is " + std::to_string(static_cast<long>(value)) +
                         " s old " + std::string(labels),
                     "the ledger is out of date: " + logs(examination));
  });
}

void check_certificates(const Examination& examination, std::string_view page) {
  constexpr const char* kCertificates = "certificates";
  for_each_series(
      page, "tangram_tls_certificate_expiry_timestamp_seconds",
      [&](std::string_view labels, double value) {
        const WallTime expires{std::chrono::seconds(static_cast<std::int64_t>(value))};
        examination.check_expiry(
            kCertificates, "the extender's certificate " + std::string(labels), expires,
            "put a new certificate into the Secret tangram-tls, or check its issuer: docs/tls.md");
      });
  for_each_series(
      page, "tangram_tls_reload_failures_total", [&](std::string_view labels, double value) {
        if (value <= 0) return;
        examination.warn(kCertificates, "changed files could not be loaded " + std::string(labels),
                         "the log says what is wrong with them: " + logs(examination));
      });
}

void check_metrics(const Examination& examination) {
  const Reading read = examination.get("/api/v1", kMetricsPath);
  if (read.outcome == Reading::Outcome::kFailed) {
    return examination.warn(
        "metrics", "cannot reach the leader's metrics: " + read.problem,
        "allow the API server to reach port 9090 of the leader: a NetworkPolicy, such as "
        "deploy/scheduler/network-policy.yaml or the chart's networkPolicy.controlPlane, must name "
        "the API server's addresses; or read them yourself: " +
            examination.kubectl() +
            " port-forward service/tangram-extender 9090, and curl -s localhost:9090/metrics");
  }
  if (!read.found()) return examination.unreadable("metrics", read);
  check_scheduler_calls(examination, read.text);
  check_watches(examination, read.text);
  check_certificates(examination, read.text);
}

}  // namespace

void check_extender(const Examination& examination, const ClusterSettings& settings) {
  const Reading deployment =
      examination.get("/apis/apps/v1", std::string("/deployments/") + kExtenderName);
  check_deployment(examination, deployment);
  if (deployment.outcome == Reading::Outcome::kMissing) return;
  check_leader_label(examination);
  check_service(examination);
  if (deployment.found() && settings.config) {
    check_ports(examination, deployment.text, *settings.config);
  }
  check_lease(examination);
  check_metrics(examination);
}

}  // namespace tangram::cli
