#include "extender/requested_moves.hpp"

#include "base/utf8.hpp"
#include "kube/client.hpp"

#include <spdlog/spdlog.h>

#include <utility>

namespace tangram::extender {

namespace {

using cluster::MoveProgress;
using cluster::MoveRequest;
using cluster::MoveState;

constexpr int kOk = 200;
constexpr int kNotFound = 404;

}  // namespace

RequestedMoves::RequestedMoves(RequestedMovesSettings settings, Parts parts)
    : settings_(std::move(settings)), parts_(std::move(parts)) {}

void RequestedMoves::look() {
  if (settings_.ns.empty() || parts_.clock.now() < next_look_) return;
  next_look_ = parts_.clock.now() + kInterval;
  if (const auto found = read()) take(*found);
  if (to_report_) report();
}

bool RequestedMoves::confirm() {
  const std::uint64_t before = serial_;
  const auto found = read();
  if (!found) return false;
  take(*found);
  return is_current(before) && !is_over();
}

void RequestedMoves::forget() {
  seen_.clear();
  current_.reset();
  to_report_ = false;
}

/// @returns nothing if it is not known
std::optional<cluster::MoveRequests> RequestedMoves::read() {
  auto response = parts_.api.call(
      {.path = cluster::move_requests_path(settings_.ns), .timeout = settings_.api_timeout});
  if (!response) {
    complain(read_problem_, response.error().message);
    return std::nullopt;
  }
  if (response->status != kOk) complain(read_problem_, kube::status_message(*response));
  if (response->status == kNotFound) return cluster::MoveRequests{};  // that withdraws it, too
  if (response->status != kOk) return std::nullopt;
  auto found = cluster::read_move_requests(std::move(response->body));
  complain(read_problem_, found ? "" : found.error().message);
  return found ? std::optional(*std::move(found)) : std::nullopt;
}

void RequestedMoves::take(const cluster::MoveRequests& read) {
  if (read.request == seen_) return;
  if (current_) {
    end(MoveState::kStopped, "it was withdrawn");
    report();
  }
  seen_ = read.request;
  to_report_ = false;
  if (seen_.empty()) return;
  auto request = cluster::read_move_request(read.request);
  if (!request) {
    spdlog::warn("a request of moves is not taken: {}", request.error().message);
    return;
  }
  const auto before = cluster::read_move_progress(read.progress);
  const bool is_known = before && before->id == request->id;
  take(*std::move(request), is_known ? std::optional(*before) : std::nullopt);
}

void RequestedMoves::take(MoveRequest request, const std::optional<MoveProgress>& before) {
  if (before && before->state != MoveState::kRunning) return;
  ++serial_;
  progress_ = before ? *before : MoveProgress{.id = request.id};
  is_reported_ = false;
  to_report_ = true;
  const WallTime now = parts_.clock.wall();
  const bool is_long = request.until > now + MoveRequest::kLongest + kSlack;
  report_until_ = (is_long ? now : std::max(request.until, now)) + kReportFor;
  spdlog::info("request {}: {} pods may move for {} that wait", request.id, request.movers.size(),
               request.waiting.size());
  current_ = std::move(request);
  if (is_long) {
    end(MoveState::kStopped, "it is to go on for more than an hour");
  } else if (now >= current_->until) {
    end(MoveState::kStopped, "its time, until " + rfc3339(current_->until) +
                                 ", was over when it was read, at " + rfc3339(now));
  }
}

void RequestedMoves::evicted(std::uint64_t serial) {
  if (serial == 0 || serial != serial_) return;
  ++progress_.evicted;
  progress_.message.clear();
  to_report_ = true;
}

void RequestedMoves::placed(std::size_t count) {
  if (count <= progress_.placed) return;
  progress_.placed = count;
  to_report_ = true;
}

void RequestedMoves::hindered(const std::string& why) {
  to_report_ = to_report_ || progress_.message != why;
  progress_.message = utf8_prefix(why, MoveProgress::kLongestMessage);
}

void RequestedMoves::end(MoveState state, const std::string& message) {
  if (!current_) return;
  spdlog::info("request {}: {}{}{}", current_->id, to_string(state), message.empty() ? "" : ": ",
               message);
  progress_.state = state;
  progress_.message = utf8_prefix(message, MoveProgress::kLongestMessage);
  current_.reset();
  to_report_ = true;
}

void RequestedMoves::report() {
  if (!parts_.may_write(settings_.api_timeout)) return;
  const auto response = parts_.api.call(
      {.method = kube::Method::kPatch,
       .path = cluster::move_requests_path(settings_.ns),
       .body = cluster::move_request_patch(cluster::kProgressKey, cluster::to_json(progress_)),
       .content_type = "application/merge-patch+json",
       .timeout = settings_.api_timeout});
  const bool done = response && response->status == kOk;
  if (done) {
    is_reported_ = true;
    report_problem_.clear();
  } else {
    complain(report_problem_,
             response ? kube::status_message(*response) : response.error().message);
  }
  to_report_ = !done && parts_.clock.wall() < report_until_;
}

/// @param last  that was logged: each is logged once
void RequestedMoves::complain(std::string& last, const std::string& problem) const {
  if (std::exchange(last, problem) == problem || problem.empty()) return;
  spdlog::warn("ConfigMap {}/{}, for requests of moves: {}", settings_.ns, cluster::kMoveRequests,
               problem);
}

}  // namespace tangram::extender
