#include "cli/doctor/doctor.hpp"

#include "base/json.hpp"
#include "cli/cluster_settings.hpp"
#include "cli/doctor/checks.hpp"
#include "cli/json_path.hpp"
#include "cli/words.hpp"
#include "kube/url.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <string_view>
#include <utility>

namespace tangram::cli {

namespace {

/// The oldest Kubernetes whose kube-scheduler speaks the extender protocol as it is shipped here.
constexpr int kOldestMinor = 22;
constexpr std::size_t kNamed = 5;
constexpr std::chrono::hours kExpiresSoon{14 * 24};

std::string_view to_string(Level level) {
  switch (level) {
    case Level::kOk:
      return "ok";
    case Level::kWarn:
      return "warn";
    case Level::kFail:
      return "fail";
  }
  return "";
}

drawing::Ink ink_of(Level level) {
  switch (level) {
    case Level::kOk:
      return kGood;
    case Level::kWarn:
      return {.text = 214, .bold = true};
    case Level::kFail:
      return kBad;
  }
  return {};
}

/// "27", or "27+" of some vendors.
int minor_of(const std::string& version) {
  int minor = 0;
  const std::string text = text_at(version, {"minor"});
  std::from_chars(text.data(), text.data() + text.size(), minor);
  return minor;
}

/// @returns whether it is worth going on
bool check_server(const Installation& installation, Report& report) {
  const Reading version = look(installation.api, "/version");
  if (version.outcome == Reading::Outcome::kMissing) {
    report.push_back({Level::kWarn, "API server",
                      installation.server + " does not tell its version",
                      "is it one of Kubernetes?"});
    return true;
  }
  if (!version.found()) {
    report.push_back({Level::kFail, "API server", version.problem,
                      "see with `kubectl cluster-info` whether it is up and the context is right"});
    return false;
  }
  const std::string name = text_at(version.text, {"gitVersion"}) + " at " + installation.server;
  if (minor_of(version.text) < kOldestMinor) {
    report.push_back({Level::kFail, "API server", name,
                      "Tangram needs Kubernetes 1." + std::to_string(kOldestMinor) + " or newer"});
  } else {
    report.push_back({Level::kOk, "API server", name, ""});
  }
  return true;
}

}  // namespace

Report examine(const Installation& installation) {
  Report report;
  if (!check_server(installation, report)) return report;
  const ClusterSettings settings =
      read_cluster_settings(installation.api, installation.system_namespace);
  const auto cluster = Cluster::read(installation.api, settings.policy, installation.clock);
  if (cluster) {
    check_nodes(installation, **cluster, report);
  } else {
    report.push_back({Level::kFail, "nodes and pods", cluster.error().message,
                      "without the right to list both nothing more can be said of them"});
  }
  check_agents(installation, report);
  check_extender(installation, report);
  check_webhook(installation, report);
  check_rights(installation, report);
  if (cluster) check_pods(installation, **cluster, report);
  return report;
}

bool is_well(const Report& report) {
  return std::none_of(report.begin(), report.end(),
                      [](const Check& check) { return check.level == Level::kFail; });
}

std::string draw_report(const Screen& screen, const Report& report) {
  constexpr std::size_t kLevel = 4;
  std::size_t subject = 0;
  std::array<std::size_t, 3> counts{};
  for (const Check& check : report) {
    subject = std::max(subject, drawing::columns_of(check.subject));
    ++counts[static_cast<std::size_t>(check.level)];
  }
  const std::size_t indent = kLevel + 2 + subject + 2;
  std::string text;
  for (const Check& check : report) {
    text +=
        paint(screen.look, ink_of(check.level), drawing::left_in(to_string(check.level), kLevel)) +
        "  " + drawing::left_in(check.subject, subject) + "  " +
        in_lines(screen, check.finding, indent) + "\n";
    if (check.next.empty()) continue;
    text += std::string(indent, ' ') + "→ " + in_lines(screen, check.next, indent + 2) + "\n";
  }
  return text + "\n" + std::to_string(counts[0]) + " ok, " + counted(counts[1], "warning") + ", " +
         counted(counts[2], "failure") + "\n";
}

std::string report_json(const Report& report) {
  std::string text;
  json::Writer out(text);
  out.begin_object().key("checks").begin_array();
  for (const Check& check : report) {
    out.begin_object().member("level", to_string(check.level));
    out.member("subject", check.subject).member("finding", check.finding);
    out.member("next", check.next).end_object();
  }
  out.end_array().member("well", is_well(report)).end_object();
  return text;
}

std::string system_path(const Installation& installation, const std::string& group) {
  return group + "/namespaces/" + kube::percent_encode(installation.system_namespace);
}

std::string some_of(const std::vector<std::string>& names) {
  if (names.size() <= kNamed) return joined(names);
  const std::vector<std::string> first(names.begin(), names.begin() + kNamed);
  return joined(first) + " and " + std::to_string(names.size() - kNamed) + " more";
}

void add_unseen(Report& report, const std::string& subject, const Reading& reading) {
  std::string next = "run the same once more";
  if (reading.outcome == Reading::Outcome::kForbidden) {
    next =
        "ask for the ClusterRole " + std::string(kDoctorRole) + ", which deploy/cli/rbac.yaml has";
  } else if (reading.outcome == Reading::Outcome::kMissing) {
    next = "this API server does not have that kind of object; is it too old for Tangram?";
  }
  report.push_back(
      {Level::kWarn, subject, "could not be looked at: " + reading.problem, std::move(next)});
}

std::optional<std::size_t> ready_endpoints(const Installation& installation,
                                           const std::string& service, Report& report) {
  const Reading slices = look(
      installation.api, system_path(installation, "/apis/discovery.k8s.io/v1") + "/endpointslices",
      {{"labelSelector", "kubernetes.io/service-name=" + service}});
  if (!slices.found()) {
    add_unseen(report, "Service " + service, slices);
    return std::nullopt;
  }
  std::size_t ready = 0;
  for_each_at(slices.text, {"items"}, [&](std::string_view slice) {
    for_each_at(slice, {"endpoints"}, [&](std::string_view endpoint) {
      if (value_at(endpoint, {"conditions", "ready"}) != "false") ++ready;
    });
  });
  return ready;
}

void check_expiry(const Installation& installation, Check check, WallTime expires, Report& report) {
  const WallTime now = installation.clock.wall();
  if (now + kExpiresSoon < expires) {
    check.level = Level::kOk;
    check.finding += " is valid until " + rfc3339(expires);
    check.next.clear();
  } else {
    const bool expired = expires <= now;
    check.level = expired ? Level::kFail : Level::kWarn;
    check.finding += (expired ? " expired at " : " expires at ") + rfc3339(expires);
  }
  report.push_back(std::move(check));
}

}  // namespace tangram::cli
