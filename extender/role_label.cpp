#include "extender/role_label.hpp"

#include "base/json.hpp"
#include "kube/client.hpp"
#include "kube/url.hpp"
#include "model/annotations.hpp"

#include <spdlog/spdlog.h>

#include <vector>

namespace tangram::extender {

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::string_view kLeaderRole = "leader";

/// How soon a change of role shows in the label: well below what a Service takes to follow it.
constexpr milliseconds kInterval{100};
/// After a failed attempt: the API server has other worries.
constexpr milliseconds kRetry{1'000};
constexpr milliseconds kTimeout{3'000};
/// Another replica leads already, or soon, and takes the label off as well.
constexpr milliseconds kLastTimeout{1'000};
/// Now and then: the label may have been removed, or be the mark of a takeover that failed.
constexpr seconds kLookAgain{30};
/// An API server works on a request for 60 s at most.
constexpr seconds kLateWrite{70};

/// "" = it has no such label
std::string_view role_of(const kube::Pod& pod) {
  const auto role = pod.labels.find(model::kRoleLabel);
  return role == pod.labels.end() ? std::string_view() : std::string_view(role->second);
}

Result<std::vector<kube::Pod>> read_pods(std::string list) {
  std::vector<kube::Pod> pods;
  static const json::Outline kOutline{.members = {{"items", kube::pod_outline()}}};
  json::Reader in(list, kOutline);
  in.object([&](std::string_view key) {
    if (key != "items") return in.skip();
    in.array([&] { pods.push_back(kube::read_pod(in)); });
  });
  if (auto done = in.finish(); !done) return done.error();
  return pods;
}

}  // namespace

kube::Request set_role(const kube::Pod& pod, std::string_view role, milliseconds timeout) {
  kube::Request request{.method = kube::Method::kPatch,
                        .path = kube::pod_path(pod.ns, pod.name),
                        .content_type = "application/merge-patch+json",
                        .timeout = timeout};
  json::Writer out(request.body);
  out.begin_object().key("metadata").begin_object();
  out.member("resourceVersion", pod.resource_version);
  out.key("labels").begin_object();
  if (role.empty()) {
    out.key(model::kRoleLabel).null();
  } else {
    out.member(model::kRoleLabel, role);
  }
  out.end_object().end_object().end_object();
  return request;
}

bool may_come_late(const Result<kube::Response>& response) {
  return response ? response->status >= 500 : response.error().code == Errc::kTimeout;
}

void RoleLabel::look_again(bool again) {
  if (again) late_write_ = true;
  stale_ = true;
}

milliseconds RoleLabel::step() {
  const TimePoint now = parts_.clock.now();
  if (stale_.exchange(false)) labelled_.reset();
  if (late_write_.exchange(false)) unsure_until_ = now + kLateWrite;
  const bool leads = parts_.leads();
  const bool look_again = now < unsure_until_ || now - looked_ > kLookAgain;
  if (labelled_ == leads && !look_again) return kInterval;
  labelled_.reset();
  looked_ = now;
  const Outcome outcome = label_all(leads);
  if (outcome == Outcome::kUnknown) unsure_until_ = parts_.clock.now() + kLateWrite;
  if (outcome == Outcome::kDone) labelled_ = leads;
  const bool wait = outcome == Outcome::kUnknown || outcome == Outcome::kFailed ||
                    parts_.clock.now() < unsure_until_;
  return wait ? kRetry : kInterval;
}

void RoleLabel::take_off() {
  if (labelled_ != false) (void)label_own(false, kLastTimeout);
}

RoleLabel::Outcome RoleLabel::label_all(bool leads) {
  const Outcome own = label_own(leads, kTimeout);
  return own == Outcome::kDone && leads ? unlabel_others() : own;
}

RoleLabel::Outcome RoleLabel::label_own(bool leads, milliseconds timeout) {
  const auto pod = read_own(timeout);
  if (!pod) return Outcome::kFailed;
  const std::string_view role = leads ? kLeaderRole : "";
  if (role_of(*pod) == role) return Outcome::kDone;
  // Reading may have taken its time. To take it off is never wrong: a leader puts it on again.
  if (leads && !parts_.leads()) return Outcome::kChanged;
  return judge(parts_.api.call(set_role(*pod, role, timeout)), *pod);
}

/// @returns nothing, and says why in the log, if it cannot be read or is not this replica's pod any
///          more
std::optional<kube::Pod> RoleLabel::read_own(milliseconds timeout) {
  auto pod = kube::read_pod(parts_.api, parts_.ns, parts_.pod, timeout);
  if (!pod) {
    spdlog::warn("label {}: {}", model::kRoleLabel, pod.error().message);
    return std::nullopt;
  }
  if (own_uid_.empty()) own_uid_ = pod->uid;
  if (pod->uid == own_uid_) return std::move(*pod);
  spdlog::warn("label {}: pod {}/{} was deleted and made anew", model::kRoleLabel, parts_.ns,
               parts_.pod);
  return std::nullopt;
}

RoleLabel::Outcome RoleLabel::unlabel_others() {
  kube::Request request;
  request.path = "/api/v1/namespaces/" + kube::percent_encode(parts_.ns) + "/pods";
  request.query = {
      {"labelSelector", std::string(model::kRoleLabel) + "=" + std::string(kLeaderRole)}};
  request.timeout = kTimeout;
  auto response = parts_.api.call(request);
  if (!response || response->status != 200) return Outcome::kFailed;
  const auto pods = read_pods(std::move(response->body));
  if (!pods) {
    spdlog::warn("pods with the label {}: {}", model::kRoleLabel, pods.error().message);
    return Outcome::kFailed;
  }
  Outcome worst = Outcome::kDone;
  for (const kube::Pod& pod : *pods) {
    if (pod.name == parts_.pod) continue;
    if (!parts_.leads()) return Outcome::kChanged;
    if (const Outcome outcome = unlabel(pod); outcome != Outcome::kDone) worst = outcome;
  }
  return worst;
}

RoleLabel::Outcome RoleLabel::unlabel(const kube::Pod& pod) {
  const auto response = parts_.api.call(set_role(pod, "", kTimeout));
  if (response && response->status == 404) return Outcome::kDone;
  if (response && (response->status == 403 || response->status == 422)) {
    // As deploy/scheduler/policy.yaml has it where tokens are a pod's. It does so itself, or ends.
    if (!std::exchange(refused_, true)) {
      spdlog::info("label {} stays on pod {}/{}, which leads no more, until that takes it off: {}",
                   model::kRoleLabel, parts_.ns, pod.name, kube::status_message(*response));
    }
    return Outcome::kDone;
  }
  spdlog::info("taking the label {} off pod {}/{}, which leads no more", model::kRoleLabel,
               parts_.ns, pod.name);
  return judge(response, pod);
}

RoleLabel::Outcome RoleLabel::judge(const Result<kube::Response>& response,
                                    const kube::Pod& pod) const {
  if (response && response->status == 200) return Outcome::kDone;
  if (response && response->status == 409) return Outcome::kChanged;
  spdlog::warn("label {} of pod {}/{}: {}", model::kRoleLabel, parts_.ns, pod.name,
               response ? std::to_string(response->status) + ": " + kube::status_message(*response)
                        : response.error().message);
  return may_come_late(response) ? Outcome::kUnknown : Outcome::kFailed;
}

}  // namespace tangram::extender
