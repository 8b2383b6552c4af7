#include "extender/leadership.hpp"

#include "base/json.hpp"
#include "base/sleeper.hpp"
#include "kube/client.hpp"
#include "kube/url.hpp"
#include "model/annotations.hpp"

#include <spdlog/spdlog.h>

#include <chrono>
#include <optional>
#include <utility>
#include <vector>

namespace tangram::extender {

namespace {

using std::chrono::milliseconds;

constexpr std::string_view kLeaderRole = "leader";

/// How soon a change of role shows in the label: well below what a Service takes to follow it.
constexpr milliseconds kLabelInterval{100};
/// After a failed attempt: the API server has other worries.
constexpr milliseconds kLabelRetry{1'000};
constexpr milliseconds kLabelTimeout{3'000};
/// A leader says it again now and then: its label may have been removed, or a deposed
/// leader's late write may have put one on.
constexpr std::chrono::seconds kLabelLook{30};

std::string label_patch(bool leader) {
  std::string body;
  json::Writer out(body);
  out.begin_object().key("metadata").begin_object().key("labels").begin_object();
  if (leader) {
    out.member(model::kRoleLabel, kLeaderRole);
  } else {
    out.key(model::kRoleLabel).null();
  }
  out.end_object().end_object().end_object();
  return body;
}

/// The names in a PodList.
std::vector<std::string> names_in(std::string list) {
  std::vector<std::string> names;
  json::Reader in(list);
  in.object([&](std::string_view key) {
    if (key != "items") return in.skip();
    in.array([&] { names.emplace_back(kube::read_object_name(in)); });
  });
  if (!in.finish()) names.clear();
  return names;
}

}  // namespace

Result<std::unique_ptr<Leadership>> Leadership::create(
    const config::Config::LeaderElection& settings, Replica replica, Parts parts) {
  std::unique_ptr<Leadership> made(new Leadership(std::move(replica), std::move(parts)));
  Leadership* const self = made.get();
  auto elector = kube::LeaderElector::create(
      {.ns = self->replica_.ns,
       .name = settings.lease,
       .identity = self->replica_.identity,
       .lease_duration = settings.lease_duration,
       .renew_deadline = settings.renew_deadline,
       .retry_period = settings.retry_period},
      {.api = self->parts_.api, .clock = self->parts_.clock, .random = self->parts_.random},
      {.on_started_leading = [self] { self->take_over(); },
       .on_stopped_leading =
           [self] {
             self->leading_ = false;
             self->parts_.finish();
           }});
  if (!elector) return elector.error();
  made->elector_ = std::move(*elector);
  return made;
}

Leadership::~Leadership() { stop(); }

void Leadership::start() {
  election_ = std::jthread([this](const std::stop_token& stop) { elector_->run(stop); });
  if (replica_.pod.empty()) return;
  labelling_ = std::jthread([this](const std::stop_token& stop) { keep_label(stop); });
}

void Leadership::stop() {
  for (std::jthread* thread : {&election_, &labelling_}) {
    thread->request_stop();
    if (thread->joinable()) thread->join();
  }
}

void Leadership::take_over() {
  nodes_ticket_ = parts_.nodes.relist();
  pods_ticket_ = parts_.pods.relist();
  leading_ = true;
}

bool Leadership::listed_anew() const {
  return parts_.nodes.health().relisted >= nodes_ticket_ &&
         parts_.pods.health().relisted >= pods_ticket_;
}

Leadership::Role Leadership::role() const {
  if (!leading_ || !elector_->leads_past(parts_.clock.now())) return Role::kFollower;
  return listed_anew() ? Role::kLeader : Role::kTakingOver;
}

bool Leadership::may_write(milliseconds takes) const {
  return role() == Role::kLeader && elector_->leads_past(parts_.clock.now() + takes);
}

void Leadership::keep_label(const std::stop_token& stop) {
  std::optional<bool> labelled;  // nothing = not known: from an earlier life, or an answer was lost
  TimePoint looked{};
  while (!stop.stop_requested()) {
    const bool leader = role() == Role::kLeader;
    const bool look_again = leader && parts_.clock.now() - looked > kLabelLook;
    bool done = true;
    if (labelled != leader || look_again) {
      labelled.reset();
      done = label_self(leader) && (!leader || unlabel_others());
      if (done) labelled = leader;
      looked = parts_.clock.now();
    }
    sleep_until_stopped(done ? kLabelInterval : kLabelRetry, stop);
  }
  if (labelled != false) label_self(false);
}

bool Leadership::label_self(bool leader) {
  const auto labelled = label(replica_.pod, leader);
  if (!labelled) {
    spdlog::warn("label {} of pod {}/{}: {}", model::kRoleLabel, replica_.ns, replica_.pod,
                 labelled.error().message);
  }
  return labelled.has_value();
}

bool Leadership::unlabel_others() {
  kube::Request request;
  request.path = "/api/v1/namespaces/" + kube::percent_encode(replica_.ns) + "/pods";
  request.query = {
      {"labelSelector", std::string(model::kRoleLabel) + "=" + std::string(kLeaderRole)}};
  request.timeout = kLabelTimeout;
  auto response = parts_.api.call(request);
  if (!response || response->status != 200) return false;
  bool all = true;
  for (const std::string& pod : names_in(std::move(response->body))) {
    if (pod == replica_.pod) continue;
    spdlog::info("taking the label {} off pod {}/{}, which leads no more", model::kRoleLabel,
                 replica_.ns, pod);
    const auto unlabelled = label(pod, false);
    all = all && (unlabelled || unlabelled.error().code == Errc::kNotFound);
  }
  return all;
}

Result<void> Leadership::label(const std::string& pod, bool leader) {
  kube::Request request;
  request.method = kube::Method::kPatch;
  request.path = kube::pod_path(replica_.ns, pod);
  request.content_type = "application/merge-patch+json";
  request.body = label_patch(leader);
  request.timeout = kLabelTimeout;
  const auto response = parts_.api.call(request);
  if (!response) return response.error();
  if (response->status == 200) return {};
  return fail(response->status == 404 ? Errc::kNotFound : Errc::kUnavailable,
              std::to_string(response->status) + ": " + kube::status_message(*response));
}

}  // namespace tangram::extender
