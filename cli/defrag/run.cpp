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
/// The leader reports the end of the time itself.
constexpr seconds kAfterEnd{15};

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

/// @returns nothing if no extender has taken it yet; kConflict: it does not stand there any more
Result<std::optional<MoveProgress>> progress_of(const MovesPlace& place,
                                                const MoveRequest& request) {
  const auto found = read(place);
  if (!found) return found.error();
  if (found->request != cluster::to_json(request)) {
    return fail(Errc::kConflict, "the request was withdrawn, or replaced by another one");
  }
  auto progress = progress_in(*found);
  return progress && progress->id == request.id ? progress : std::nullopt;
}

/// The error of a request that no extender takes.
Error withdraw(const MovesPlace& place, const MoveRequest& request) {
  const std::string none =
      "no extender has taken the request in " + std::to_string(kUntilTaken.count()) + " s";
  const auto found = read(place);
  const bool is_own = found && found->request == cluster::to_json(request);
  const auto written = is_own ? write(place, "", found->version) : Result<bool>(false);
  if (!written || !*written) {
    return fail(Errc::kUnavailable,
                none + ", and it could not be withdrawn; see `kubectl get configmap --namespace " +
                    place.ns + " " + cluster::kMoveRequests + " -o yaml`");
  }
  return fail(Errc::kUnavailable, none +
                                      ", so it was withdrawn; `kubectl tangram doctor` says "
                                      "whether an extender leads, and its setting "
                                      "defrag.on_request must be true");
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
  if (other && is_open(*other, progress_in(*found), now)) {
    return fail(Errc::kConflict, "another request is under way, until " + rfc3339(other->until) +
                                     " at the latest; wait for its end, or withdraw it: kubectl "
                                     "patch configmap --namespace " +
                                     place.ns + " " + cluster::kMoveRequests +
                                     R"( --type merge -p '{"data":{"request":""}}')");
  }
  const auto written = write(place, cluster::to_json(request), found->version);
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
    auto found = progress_of(place, request);
    if (!found && found.error().code != Errc::kUnavailable) return found.error();
    if (found && *found && *found != known) wait.report(*(known = *std::move(found)));
    if (known && known->state != MoveState::kRunning) return *known;
    if (!known && wait.clock.now() - begin >= kUntilTaken) return withdraw(place, request);
    if (wait.clock.wall() >= request.until + kAfterEnd) {
      return fail(Errc::kUnavailable,
                  "the time is over, and no extender has reported the end; no more moves begin");
    }
    wait.sleep(kInterval, {});
  }
}

std::string progress_text(const MoveRequest& request, const MoveProgress& progress) {
  return count_of(progress.moved, request.movers.size(), "pod") + " moved; room for " +
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
