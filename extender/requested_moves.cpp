#include "extender/requested_moves.hpp"

#include "base/utf8.hpp"
#include "kube/client.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

namespace tangram::extender {

using cluster::MoveRequest;
using cluster::MoveState;

RequestedMoves::RequestedMoves(RequestedMovesSettings settings, Parts parts)
    : settings_(std::move(settings)), parts_(std::move(parts)) {}

bool RequestedMoves::may_move(std::string_view uid) const {
  return current_ && std::ranges::find(current_->movers, uid) != current_->movers.end();
}

void RequestedMoves::look() {
  if (settings_.ns.empty() || parts_.clock.now() < next_look_) return;
  next_look_ = parts_.clock.now() + kInterval;
  if (const auto found = read()) take(*found);
  if (current_ && parts_.clock.wall() >= current_->until) {
    end(MoveState::kStopped, "its time is over");
  }
  if (to_write_) write();
}

void RequestedMoves::forget() {
  seen_.clear();
  current_.reset();
  to_write_ = false;
}

/// @returns nothing if it is not known: what was begun goes on
std::optional<cluster::MoveRequests> RequestedMoves::read() {
  const auto response = parts_.api.call(
      {.path = cluster::move_requests_path(settings_.ns), .timeout = settings_.api_timeout});
  std::string problem;
  if (!response) {
    problem = response.error().message;
  } else if (response->status != 200) {
    problem = kube::status_message(*response);
  } else {
    auto found = cluster::read_move_requests(response->body);
    if (found) {
      problem_.clear();
      return *std::move(found);
    }
    problem = found.error().message;
  }
  if (std::exchange(problem_, problem) != problem) {
    spdlog::warn("ConfigMap {}/{}, for requests of moves: {}", settings_.ns, cluster::kMoveRequests,
                 problem);
  }
  return std::nullopt;
}

void RequestedMoves::take(const cluster::MoveRequests& read) {
  if (read.request == seen_) return;
  if (current_) spdlog::info("the request {} of moves was withdrawn", current_->id);
  seen_ = read.request;
  current_.reset();
  to_write_ = false;
  if (seen_.empty()) return;
  auto request = cluster::read_move_request(read.request);
  if (!request) {
    spdlog::warn("a request of moves is not taken: {}", request.error().message);
    return;
  }
  const auto before = cluster::read_move_progress(read.progress);
  const bool is_known = before && before->id == request->id;
  if (!is_open(*request, before ? std::optional(*before) : std::nullopt, parts_.clock.wall()))
    return;
  progress_ = is_known ? *before : cluster::MoveProgress{.id = request->id};
  to_write_ = true;
  current_ = *std::move(request);
  spdlog::info("request {}: {} pods may move, so that {} get room", current_->id,
               current_->movers.size(), current_->waiting.size());
  if (current_->until > parts_.clock.wall() + MoveRequest::kLongest) {
    end(MoveState::kStopped, "it is to go on for more than an hour");
  }
}

void RequestedMoves::moved(std::string_view id) {
  if (id.empty() || id != progress_.id) return;
  ++progress_.moved;
  to_write_ = true;
}

void RequestedMoves::placed(std::size_t count) {
  to_write_ = to_write_ || progress_.placed != count;
  progress_.placed = count;
}

void RequestedMoves::end(MoveState state, const std::string& message) {
  if (!current_) return;
  spdlog::info("request {}: {}{}{}", current_->id, to_string(state), message.empty() ? "" : ": ",
               message);
  progress_.state = state;
  progress_.message = utf8_prefix(message, cluster::MoveProgress::kLongestMessage);
  current_.reset();
  to_write_ = true;
}

void RequestedMoves::write() {
  if (!parts_.may_write(settings_.api_timeout)) return;
  const auto response = parts_.api.call(
      {.method = kube::Method::kPatch,
       .path = cluster::move_requests_path(settings_.ns),
       .body = cluster::move_request_patch(cluster::kProgressKey, cluster::to_json(progress_)),
       .content_type = "application/merge-patch+json",
       .timeout = settings_.api_timeout});
  to_write_ = !response || response->status != 200;
  if (to_write_) {
    spdlog::warn("request {}: progress not written: {}", progress_.id,
                 response ? kube::status_message(*response) : response.error().message);
  }
}

}  // namespace tangram::extender
