#include "extender/takeover.hpp"

#include "extender/role_label.hpp"
#include "kube/client.hpp"
#include "kube/list_watch_codec.hpp"
#include "kube/objects.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>

namespace tangram::extender {

namespace {

using std::chrono::milliseconds;

/// kubelet may change the pod between our read and our write.
constexpr int kMostTries = 3;

/// Unlike any value before, so that it is a change, and a watch shows it.
std::string mark_value(WallTime now) {
  const auto since = std::chrono::duration_cast<std::chrono::microseconds>(now.time_since_epoch());
  return "taking-over-" + std::to_string(since.count());
}

}  // namespace

bool Takeover::begin() {
  const Mark written = mark();
  const std::scoped_lock lock(mutex_);
  begun_ = true;
  done_ = false;
  mark_ = written.version.value_or("");
  until_ = parts_.clock.now() + parts_.limit;
  tickets_.reset();
  if (!written.version) tickets_ = list_anew();
  return written.answered;
}

void Takeover::end() {
  const std::scoped_lock lock(mutex_);
  begun_ = false;
}

bool Takeover::done() {
  const std::scoped_lock lock(mutex_);
  if (done_ || !begun_) return begun_;
  const auto pods = parts_.pods.health();
  if (tickets_) {
    done_ = pods.relisted >= tickets_->pods && parts_.nodes.health().relisted >= tickets_->nodes;
    return done_;
  }
  done_ = !kube::older_version(pods.version, mark_);
  if (!done_ && parts_.clock.now() >= until_) {
    spdlog::warn("taking over: the watch of pods is at version {} and not yet at {}; listing again",
                 pods.version, mark_);
    tickets_ = list_anew();
  }
  return done_;
}

Takeover::Tickets Takeover::list_anew() {
  return {.nodes = parts_.nodes.relist(), .pods = parts_.pods.relist()};
}

Takeover::Mark Takeover::mark() {
  if (parts_.pod.empty() || !parts_.nodes.health().following) return {};
  const auto before = parts_.pods.health();
  if (!before.following) return {};
  const TimePoint until = parts_.clock.now() + parts_.limit;
  Result<kube::Response> response = write_mark(until);
  for (int tries = 1; tries < kMostTries && response && response->status == 409; ++tries) {
    response = write_mark(until);
  }
  if (!response || response->status != 200) {
    spdlog::warn("taking over: pod {}/{} could not be marked, so all are listed again: {}",
                 parts_.ns, parts_.pod,
                 response ? std::to_string(response->status) + " " + kube::status_message(*response)
                          : response.error().message);
    return {.answered = !may_come_late(response)};
  }
  const auto marked = kube::decode_pod(response->body);
  // A server that was restored from a backup is behind what the watch has shown.
  if (!marked || !kube::older_version(before.version, marked->resource_version)) return {};
  return {.version = marked->resource_version};
}

/// Only on the pod as it was read: a write that arrives late must not take a label off that was put
/// on since. (One that was on before is put on again, see RoleLabel::look_again().)
Result<kube::Response> Takeover::write_mark(TimePoint until) {
  const auto pod = kube::read_pod(parts_.api, parts_.ns, parts_.pod, left(until));
  if (!pod) return pod.error();
  kube::Request request = set_role(*pod, mark_value(parts_.clock.wall()), left(until));
  request.urgent = true;
  return parts_.api.call(request);
}

milliseconds Takeover::left(TimePoint until) const {
  const auto time = std::chrono::floor<milliseconds>(until - parts_.clock.now());
  return std::max(time, milliseconds(1));
}

}  // namespace tangram::extender
