#include "cli/defrag/run.hpp"

#include "base/one_line.hpp"
#include "cli/api_reading.hpp"
#include "cli/format.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace tangram::cli {

namespace {

using cluster::MoveProgress;
using cluster::MoveRequest;
using cluster::MoveRequests;
using cluster::MoveState;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr int kConflict = 409;
constexpr milliseconds kInterval{1'000};
/// Until a leader has taken a request: it looks every two seconds, and a takeover is faster.
constexpr seconds kUntilTaken{30};
/// The leader reports the end of the time itself. Clocks differ.
constexpr seconds kAfterEnd{60};

std::string name_of(const MovesPlace& place) {
  return "ConfigMap " + place.ns + "/" + cluster::kMoveRequests;
}

Result<kube::Response> call(const MovesPlace& place, const kube::Request& request) {
  auto response = place.api.call(request);
  if (!response) return fail(Errc::kUnavailable, one_line(response.error().message));
  if (response->status == 200 || response->status == kConflict) return response;
  const Error error = refused(request, *response, kMoverRole);
  if (error.code != Errc::kNotFound) return error;
  return fail(Errc::kNotFound,
              "there is no " + name_of(place) +
                  ", through which the extender takes requests: set defrag.on_request: true in its "
                  "settings and install them again, or name its namespace by --system-namespace");
}

Result<MoveRequests> read(const MovesPlace& place) {
  auto response = call(place, {.path = cluster::move_requests_path(place.ns)});
  if (!response) return response.error();
  auto found = cluster::read_move_requests(std::move(response->body));
  if (!found) return fail(Errc::kUnavailable, name_of(place) + ": " + found.error().message);
  return found;
}

/// @returns false if it was written meanwhile
Result<bool> write(const MovesPlace& place, const std::string& request,
                   const std::string& version) {
  const auto response =
      call(place, {.method = kube::Method::kPatch,
                   .path = cluster::move_requests_path(place.ns),
                   .body = cluster::move_request_patch(cluster::kRequestKey, request, version),
                   .content_type = "application/merge-patch+json"});
  if (!response) return response.error();
  return response->status == 200;
}

std::optional<MoveProgress> progress_in(const MoveRequests& found) {
  auto progress = cluster::read_move_progress(found.progress);
  return progress ? std::optional(*std::move(progress)) : std::nullopt;
}

std::string how_to_withdraw(const MovesPlace& place) {
  return "to withdraw it: kubectl patch configmap --namespace " + place.ns + " " +
         cluster::kMoveRequests + R"( --type merge -p '{"data":{"request":""}}')";
}

struct Seen {
  std::string version;
  std::optional<MoveProgress> progress;  ///< nothing = no extender has taken the request yet
};
/// @returns kConflict: the request does not stand there any more, and is not reported to be over
Result<Seen> look_at(const MovesPlace& place, const MoveRequest& request) {
  auto found = read(place);
  if (!found) return found.error();
  auto progress = progress_in(*found);
  if (progress && progress->id != request.id) progress.reset();
  const bool is_over = progress && progress->state != MoveState::kRunning;
  if (!is_over && found->request != cluster::to_json(request)) {
    return fail(Errc::kConflict, "the request was withdrawn, or replaced by another one");
  }
  return Seen{.version = std::move(found->version), .progress = std::move(progress)};
}

/// Takes back a request that no extender has taken, as of that version.
/// @returns nothing if the object was written meanwhile
std::optional<Error> withdraw(const MovesPlace& place, const std::string& version) {
  const std::string none =
      "no extender has taken the request in " + std::to_string(kUntilTaken.count()) + " s";
  const auto written = write(place, "", version);
  if (!written) return fail(Errc::kUnavailable, none + "; " + how_to_withdraw(place));
  if (!*written) return std::nullopt;
  return fail(Errc::kUnavailable, none +
                                      ", so it was withdrawn, and nothing was changed; `kubectl "
                                      "tangram doctor` says whether an extender leads; its "
                                      "setting defrag.on_request must be true, and its log says "
                                      "which right it lacks");
}

std::optional<MoveProgress> told_of(const std::optional<MoveProgress>& progress,
                                    const MovesWait& wait) {
  if (progress && progress->state == MoveState::kRunning) wait.report(*progress);
  return progress;
}

/// @returns nothing if the request may still be carried out
std::optional<Error> reason_to_give_up(const MovesPlace& place, const MoveRequest& request,
                                       const Result<Seen>& seen, TimePoint begin,
                                       const MovesWait& wait) {
  if (!seen && seen.error().code == Errc::kConflict) return seen.error();
  if (wait.clock.wall() >= request.until + kAfterEnd) {
    return fail(Errc::kUnavailable,
                "the time is over, and no extender has reported the end; no more moves begin" +
                    (seen ? "" : ": " + seen.error().message));
  }
  const bool is_taken = !seen || seen->progress;  // as far as is known
  if (is_taken || wait.clock.now() - begin < kUntilTaken) return std::nullopt;
  return withdraw(place, seen->version);
}

/// "1 of 2 pods"
std::string count_of(std::size_t count, std::size_t all, const std::string& what) {
  return std::to_string(count) + " of " + counted(all, what);
}

}  // namespace

MoveRequest move_request_of(const Defrag& plan, WallTime now, seconds timeout) {
  MoveRequest request{.id = rfc3339_micro(now), .until = std::chrono::ceil<seconds>(now) + timeout};
  for (const Defrag::Move& move : plan.moves) request.movers.push_back(move.pod.uid);
  for (const Defrag::Run& run : plan.runs) request.waiting.push_back(run.pod.uid);
  return request;
}

Result<void> request_moves(const MovesPlace& place, const MoveRequest& request, WallTime now) {
  if (std::max(request.movers.size(), request.waiting.size()) > MoveRequest::kMostPods) {
    return fail(Errc::kInvalidArgument, "the plan has more than " +
                                            std::to_string(MoveRequest::kMostPods) +
                                            " pods; use a smaller --max-moves");
  }
  const auto found = read(place);
  if (!found) return found.error();
  const auto other = cluster::read_move_request(found->request);
  if (other && is_open(*other, progress_in(*found), now - kAfterEnd)) {
    return fail(Errc::kConflict, "another request is under way, until " + rfc3339(other->until) +
                                     " at the latest; wait for its end; " + how_to_withdraw(place));
  }
  const std::string text = cluster::to_json(request);
  auto written = write(place, text, found->version);
  if (!written && written.error().code == Errc::kUnavailable) {
    const auto after = read(place);  // it may have been written all the same
    if (after && after->request == text) return {};
  }
  if (!written) return written.error();
  if (*written) return {};
  return fail(Errc::kConflict, "someone else has written " + name_of(place) +
                                   " at this moment; run the command again");
}

Result<MoveProgress> await_moves(const MovesPlace& place, const MoveRequest& request,
                                 const MovesWait& wait) {
  const TimePoint begin = wait.clock.now();
  std::optional<MoveProgress> known;
  for (;;) {
    const auto seen = look_at(place, request);
    if (seen && seen->progress != known) known = told_of(seen->progress, wait);
    if (known && known->state != MoveState::kRunning) return *known;
    if (auto error = reason_to_give_up(place, request, seen, begin, wait)) return *std::move(error);
    wait.sleep(kInterval, {});
  }
}

std::string progress_text(const MoveRequest& request, const MoveProgress& progress) {
  return count_of(progress.evicted, request.movers.size(), "pod") + " evicted; room for " +
         count_of(progress.placed, request.waiting.size(), "waiting pod");
}

std::string draw_outcome(const Screen& screen, const MoveRequest& request,
                         const MoveProgress& progress) {
  const bool is_done = progress.state == MoveState::kDone;
  const std::string state = is_done ? "done" : "stopped: " + one_line(progress.message);
  return progress_text(request, progress) + "; " +
         paint(screen.style, is_done ? kGood : kBad, state) + "\n";
}

}  // namespace tangram::cli
