#include "cluster/move_request.hpp"

#include "base/json.hpp"
#include "base/json_members.hpp"
#include "kube/url.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace tangram::cluster {

namespace {

using std::chrono::seconds;

constexpr std::array kStates{MoveState::kRunning, MoveState::kDone, MoveState::kStopped};
/// Of a UID or an id: 36 in practice.
constexpr std::size_t kLongestId = 64;

Error invalid(const std::string& why) { return fail(Errc::kInvalidArgument, why); }

bool is_id(const std::string& text) { return !text.empty() && text.size() <= kLongestId; }

void write(json::Writer& out, std::string_view name, const std::vector<std::string>& texts) {
  out.key(name).begin_array();
  for (const std::string& text : texts) out.string(text);
  out.end_array();
}

Result<void> check(const MoveRequest& request) {
  if (!is_id(request.id)) return invalid("it has no id, or too long a one");
  for (const auto* pods : {&request.movers, &request.waiting}) {
    if (pods->empty()) return invalid("it needs both movers and waiting pods");
    if (pods->size() > MoveRequest::kMostPods) {
      return invalid("it has more than " + std::to_string(MoveRequest::kMostPods) + " pods");
    }
    if (!std::ranges::all_of(*pods, is_id)) return invalid("a pod's UID is empty or too long");
  }
  return {};
}

}  // namespace

std::string_view to_string(MoveState state) {
  constexpr std::array<std::string_view, kStates.size()> kNames{"running", "done", "stopped"};
  return kNames.at(static_cast<std::size_t>(state));
}

std::string to_json(const MoveRequest& request) {
  const auto until = std::chrono::duration_cast<seconds>(request.until.time_since_epoch());
  std::string text;
  json::Writer out(text);
  out.begin_object().member("id", request.id);
  out.member("untilSeconds", std::int64_t{until.count()});
  write(out, "movers", request.movers);
  write(out, "waiting", request.waiting);
  out.end_object();
  return text;
}

std::string to_json(const MoveProgress& progress) {
  std::string text;
  json::Writer(text)
      .begin_object()
      .member("id", progress.id)
      .member("state", to_string(progress.state))
      .member("evicted", static_cast<std::int64_t>(progress.evicted))
      .member("placed", static_cast<std::int64_t>(progress.placed))
      .member("message", progress.message)
      .end_object();
  return text;
}

Result<MoveRequest> read_move_request(std::string text) {
  MoveRequest request;
  std::int64_t until = 0;
  json::Reader in(text);
  json::read_members(in, "id", request.id, "untilSeconds", until, "movers", request.movers,
                     "waiting", request.waiting);
  if (auto done = in.finish(); !done) return invalid(done.error().message);
  // What a clock of nanoseconds can hold, and more than anybody will see.
  constexpr std::int64_t kMost = 9'000'000'000;
  if (until <= 0 || until > kMost) return invalid("untilSeconds is no time of these days");
  request.until = WallTime(seconds(until));
  if (auto done = check(request); !done) return done.error();
  return request;
}

Result<MoveProgress> read_move_progress(std::string text) {
  MoveProgress progress;
  std::string state;
  json::Reader in(text);
  json::read_members(in, "id", progress.id, "state", state, "evicted", progress.evicted, "placed",
                     progress.placed, "message", progress.message);
  if (auto done = in.finish(); !done) return invalid(done.error().message);
  const auto* const known =
      std::ranges::find(kStates, state, [](MoveState each) { return to_string(each); });
  if (known == kStates.end()) return invalid("its state is none of running, done and stopped");
  progress.state = *known;
  if (!is_id(progress.id)) return invalid("it has no id, or too long a one");
  return progress;
}

Result<MoveRequests> read_move_requests(std::string config_map) {
  MoveRequests read;
  static const json::Outline kOutline{
      .members = {{"metadata", {{"resourceVersion"}}}, {"data", {{kRequestKey}, {kProgressKey}}}}};
  json::Reader in(config_map, kOutline);
  json::read_members(in, "metadata", json::members("resourceVersion", read.version), "data",
                     json::members(kRequestKey, read.request, kProgressKey, read.progress));
  if (auto done = in.finish(); !done) return invalid(done.error().message);
  return read;
}

std::string move_request_patch(std::string_view key, std::string_view value,
                               std::string_view version) {
  std::string body;
  json::Writer out(body);
  out.begin_object();
  if (!version.empty()) {
    out.key("metadata").begin_object().member("resourceVersion", version).end_object();
  }
  out.key("data").begin_object().member(key, value).end_object().end_object();
  return body;
}

std::string move_requests_path(std::string_view ns) {
  return "/api/v1/namespaces/" + kube::percent_encode(ns) + "/configmaps/" + kMoveRequests;
}

bool is_open(const MoveRequest& request, const std::optional<MoveProgress>& progress,
             WallTime now) {
  if (now >= request.until) return false;
  return !progress || progress->id != request.id || progress->state == MoveState::kRunning;
}

}  // namespace tangram::cluster
