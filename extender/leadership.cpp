#include "extender/leadership.hpp"

#include "base/sleeper.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace tangram::extender {

namespace {

using std::chrono::milliseconds;

}  // namespace

Leadership::Leadership(Replica replica, Parts parts, milliseconds renew_deadline)
    : replica_(std::move(replica)),
      parts_(std::move(parts)),
      label_({.api = parts_.api,
              .clock = parts_.clock,
              .ns = replica_.ns,
              .pod = replica_.pod,
              .leads = [this] { return role() == Role::kLeader; }}),
      takeover_({.api = parts_.api,
                 .clock = parts_.clock,
                 .nodes = parts_.nodes,
                 .pods = parts_.pods,
                 .ns = replica_.ns,
                 .pod = replica_.pod,
                 .limit = std::min(Takeover::kLongest, renew_deadline / 4)}) {}

Result<std::unique_ptr<Leadership>> Leadership::create(
    const config::Config::LeaderElection& settings, Replica replica, Parts parts) {
  std::unique_ptr<Leadership> made(
      new Leadership(std::move(replica), std::move(parts), settings.renew_deadline));
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
             self->takeover_.end();
             return self->parts_.finish();
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
  // Both at once: the label comes off while the election waits for what was begun.
  for (std::jthread* thread : {&election_, &labelling_}) thread->request_stop();
  for (std::jthread* thread : {&election_, &labelling_}) {
    if (thread->joinable()) thread->join();
  }
}

void Leadership::take_over() {
  const bool answered = takeover_.begin();
  ++term_;
  label_.look_again(!answered);
}

Leadership::Role Leadership::role() {
  if (!elector_->leads_past(parts_.clock.now())) return Role::kFollower;
  return takeover_.done() ? Role::kLeader : Role::kTakingOver;
}

bool Leadership::may_write(milliseconds takes) {
  return role() == Role::kLeader && elector_->leads_past(parts_.clock.now() + takes);
}

void Leadership::keep_label(const std::stop_token& stop) {
  while (!stop.stop_requested()) sleep_until_stopped(label_.step(), stop);
  label_.take_off();
}

}  // namespace tangram::extender
