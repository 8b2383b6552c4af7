#include "cli/doctor/doctor.hpp"

#include "base/json.hpp"
#include "cli/cluster_settings.hpp"
#include "cli/doctor/checks.hpp"
#include "cli/format.hpp"
#include "cli/json_path.hpp"
#include "kube/url.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <optional>
#include <string_view>

namespace tangram::cli {

namespace {

/// The oldest Kubernetes whose kube-scheduler speaks the extender protocol as it is shipped here.
constexpr int kOldestMinor = 22;
constexpr std::size_t kNamed = 5;
constexpr std::chrono::hours kExpiresSoon{14 * 24};

/// How a report shows a level.
struct LevelStyle {
  std::string_view name;
  drawing::Ink ink;
};
const LevelStyle& style_of(Level level) {
  static constexpr std::array<LevelStyle, 3> kStyles{
      {{"ok", kGood}, {"warn", {.text = 214, .bold = true}}, {"fail", kBad}}};
  return kStyles.at(static_cast<std::size_t>(level));
}

/// "27", or "27+" of some vendors.
int minor_of(const std::string& version) {
  int minor = 0;
  const std::string text = text_at(version, {"minor"});
  std::from_chars(text.data(), text.data() + text.size(), minor);
  return minor;
}

/// @returns the minor version, 0 if that is not known; nothing if the API server cannot be reached
std::optional<int> check_server(const Examination& examination) {
  constexpr const char* kSubject = "API server";
  const Installation& installation = examination.installation;
  const Reading version = try_get(installation.api, "/version");
  if (version.outcome == Reading::Outcome::kMissing) {
    examination.warn(kSubject, installation.server + " does not report its version",
                     "check that it is a Kubernetes API server");
    return 0;
  }
  if (!version.found()) {
    examination.fail(kSubject, version.problem,
                     "check with `kubectl cluster-info` that it is up and the context is right");
    return std::nullopt;
  }
  const std::string name = text_at(version.text, {"gitVersion"}) + " at " + installation.server;
  const int minor = minor_of(version.text);
  if (minor >= kOldestMinor) {
    examination.ok(kSubject, name);
  } else {
    examination.fail(kSubject, name,
                     "Tangram needs Kubernetes 1." + std::to_string(kOldestMinor) + " or newer");
  }
  return minor;
}

}  // namespace

Report examine(const Installation& installation) {
  Report report;
  const Examination examination{installation, report};
  const std::optional<int> minor = check_server(examination);
  if (!minor) return report;
  const ClusterSettings settings =
      read_cluster_settings(installation.api, installation.system_namespace);
  const auto cluster = Cluster::read(installation.api, settings, installation.clock);
  if (cluster) {
    check_nodes(examination, **cluster);
  } else {
    examination.fail("nodes and pods", cluster.error().message,
                     "the checks of nodes and pods need the right to list both");
  }
  check_agents(examination);
  check_mps_pods(examination);
  check_extender(examination, settings);
  check_webhook(examination);
  check_hidden_cards(examination, *minor);
  check_rights(examination, settings);
  if (!cluster) return report;
  check_grants(examination, **cluster, settings);
  check_pods(examination, **cluster);
  return report;
}

bool passed(const Report& report) {
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
    const LevelStyle& style = style_of(check.level);
    text += paint(screen.style, style.ink, drawing::left_in(style.name, kLevel)) + "  " +
            drawing::left_in(check.subject, subject) + "  " +
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
    out.begin_object().member("level", style_of(check.level).name);
    out.member("subject", check.subject).member("finding", check.finding);
    out.member("next", check.next).end_object();
  }
  out.end_array().member("well", passed(report)).end_object();
  return text;
}

std::string some_of(const std::vector<std::string>& names) {
  if (names.size() <= kNamed) return joined(names);
  const std::vector<std::string> first(names.begin(), names.begin() + kNamed);
  return joined(first) + " and " + std::to_string(names.size() - kNamed) + " more";
}

void Examination::unreadable(const std::string& subject, const Reading& reading) const {
  std::string next = "run the command again";
  if (reading.outcome == Reading::Outcome::kForbidden) {
    next = "ask for the ClusterRole " + std::string(kDoctorRole) + " of deploy/cli/rbac.yaml";
  } else if (reading.outcome == Reading::Outcome::kMissing) {
    next = "this API server does not have that kind of object; check its version";
  }
  warn(subject, "cannot be read: " + reading.problem, next);
}

void Examination::no_object(const Reading& reading, const Check& missing) const {
  if (reading.outcome != Reading::Outcome::kMissing) return unreadable(missing.subject, reading);
  add(missing);
}

Reading Examination::get(const std::string& group, const std::string& what,
                         const Query& query) const {
  return try_get(
      installation.api,
      group + "/namespaces/" + kube::percent_encode(installation.system_namespace) + what, query);
}

std::optional<std::size_t> Examination::ready_endpoints(const std::string& service) const {
  const Reading slices = get("/apis/discovery.k8s.io/v1", "/endpointslices",
                             {{"labelSelector", "kubernetes.io/service-name=" + service}});
  if (!slices.found()) {
    unreadable("Service " + service, slices);
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

void Examination::check_expiry(const std::string& subject, const std::string& certificate,
                               WallTime expires, const std::string& next) const {
  const WallTime now = installation.clock.wall();
  const std::string time = rfc3339(expires);
  if (now + kExpiresSoon < expires) return ok(subject, certificate + " is valid until " + time);
  if (now < expires) return warn(subject, certificate + " expires at " + time, next);
  fail(subject, certificate + " expired at " + time, next);
}

std::string Examination::kubectl() const {
  return "kubectl --namespace " + installation.system_namespace;
}

}  // namespace tangram::cli
