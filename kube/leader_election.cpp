#include "kube/leader_election.hpp"

#include "kube/client.hpp"
#include "kube/url.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

namespace tangram::kube {

namespace {

// client-go's: candidates that started together drift apart.
constexpr double kJitter = 1.2;

// Who stops is waited for, and without it the lease expires soon.
constexpr std::chrono::milliseconds kLongestRelease{2'000};

using std::chrono::duration_cast;
using std::chrono::milliseconds;

std::string why(const Result<Response>& response) {
  if (!response) return response.error().message;
  return std::to_string(response->status) + " " + status_message(*response);
}

}  // namespace

Result<std::unique_ptr<LeaderElector>> LeaderElector::create(LeaderSettings settings,
                                                             Surroundings surroundings,
                                                             Callbacks callbacks) {
  if (settings.ns.empty() || settings.name.empty() || settings.identity.empty()) {
    return fail(Errc::kInvalidArgument, "a leader election needs ns, name and identity");
  }
  const auto longest_pause = settings.retry_period * kJitter;
  if (settings.retry_period.count() <= 0 || settings.renew_deadline <= longest_pause ||
      settings.lease_duration <= settings.renew_deadline) {
    return fail(Errc::kInvalidArgument,
                "write lease_duration > renew_deadline > 1.2 x retry_period > 0: others must wait "
                "longer than the leader tries, and it must be able to try twice");
  }
  return std::unique_ptr<LeaderElector>(
      new LeaderElector(std::move(settings), std::move(surroundings), std::move(callbacks)));
}

LeaderElector::LeaderElector(LeaderSettings settings, Surroundings surroundings,
                             Callbacks callbacks)
    : settings_(std::move(settings)),
      around_(std::move(surroundings)),
      callbacks_(std::move(callbacks)),
      collection_("/apis/coordination.k8s.io/v1/namespaces/" + percent_encode(settings_.ns) +
                  "/leases"),
      path_(collection_ + "/" + percent_encode(settings_.name)) {}

void LeaderElector::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) around_.sleeper(step(), stop);
  resign();
}

milliseconds LeaderElector::step() {
  lose_if_late();
  attempt();
  lose_if_late();
  publish();
  return pause();
}

void LeaderElector::attempt() {
  if (!leading_ || must_read_) {
    const auto response = send(Method::kGet, path_, "");
    if (response && response->status == 404) return miss();
    if (!see_answer(response)) return;
  }
  const TimePoint now = around_.clock.now();
  const LeaseMove move = next_move(*seen_, settings_.identity, settings_.lease_duration, now);
  if (leading_ && move != LeaseMove::kRenew) return lose("another one holds it");
  // Our name may stand in a Lease that a write of ours made late.
  const bool held_by_gone_lease = !leading_ && now < free_from_;
  if (move != LeaseMove::kWait && !held_by_gone_lease) claim();
}

/// There is no Lease.
void LeaderElector::miss() {
  const TimePoint now = around_.clock.now();
  // Between looks that are far apart, there may have been a Lease that somebody renewed.
  const bool watched = absent_ && now - missed_ <= settings_.renew_deadline / 2;
  absent_ = true;
  missed_ = now;
  if (!watched) wait_out();
  if (!leading_) seen_.reset();
  if (leading_ || around_.clock.now() >= free_from_) create_lease();
}

/// The Lease that said who leads is gone. Whoever held it has renewed it before now.
void LeaderElector::wait_out() {
  const auto stated = seen_ ? seen_->record.duration : std::nullopt;
  free_from_ = around_.clock.now() +
               std::max(settings_.lease_duration, stated.value_or(settings_.lease_duration));
  if (!leading_) {
    spdlog::info(
        "leader election: there is no lease, or another one; its last holder may still lead");
  }
}

/// @returns false if there is nothing to decide upon
bool LeaderElector::see_answer(const Result<Response>& response) {
  if (response && response->status == 200) {
    see(response->body);
    return !must_read_;
  }
  spdlog::warn("leader election: cannot read the lease: {}", why(response));
  return false;
}

void LeaderElector::create_lease() {
  LeaseRecord record = claimed(seen_ ? seen_->record : LeaseRecord{}, settings_.identity,
                               settings_.lease_duration, around_.clock.wall());
  if (!leading_) record.transitions = 0;  // it had no holder before
  const TimePoint sent = around_.clock.now();
  const auto response =
      send(Method::kPost, collection_, new_lease(settings_.ns, settings_.name, record));
  if (response && response->status == 201) return confirm(sent, response->body);
  spdlog::info("leader election: lease not created: {}", why(response));
  if (leading_ && response && response->status == 409) lose("another one has made it");
}

void LeaderElector::claim() {
  const auto body = with_record(lease_, claimed(seen_->record, settings_.identity,
                                                settings_.lease_duration, around_.clock.wall()));
  const TimePoint sent = around_.clock.now();
  const auto response = send(Method::kPut, path_, *body);
  if (response && response->status == 200) return confirm(sent, response->body);
  must_read_ = true;
  spdlog::info("leader election: lease not written: {}", why(response));
  if (leading_ && response && response->status == 409) look_into_conflict();
}

/// The answer is the same for a Lease that another one holds, that somebody has annotated, and that
/// is gone.
void LeaderElector::look_into_conflict() {
  const auto response = send(Method::kGet, path_, "");
  if (response && response->status == 404) return miss();
  if (!see_answer(response) || seen_->record.holder != settings_.identity) {
    lose("another one has written it");
  }
}

/// A write is there: ours from the moment before it was sent, whatever else the response contains.
void LeaderElector::confirm(TimePoint sent, const std::string& body) {
  renewed_ = sent;
  see(body);
  if (around_.clock.now() >= renewed_ + settings_.renew_deadline) return;  // too late to be of use
  leads_until_ = renewed_ + settings_.lease_duration;
  if (std::exchange(leading_, true)) return;
  spdlog::info("leader election: {} leads", settings_.identity);
  publish();
  if (callbacks_.on_started_leading) callbacks_.on_started_leading();
}

void LeaderElector::see(const std::string& body) {
  auto record = read_lease(body);
  must_read_ = !record;
  if (!record) {
    spdlog::warn("leader election: the lease cannot be read: {}", record.error().message);
    return;
  }
  const bool another = seen_ && seen_->record.uid != record->uid;
  if (another && !absent_) wait_out();
  absent_ = false;
  lease_ = body;
  seen_ = sighted(seen_, std::move(*record), around_.clock.now());
}

void LeaderElector::lose(std::string_view reason) {
  leads_until_ = kNever;
  leading_ = false;
  must_read_ = true;
  spdlog::info("leader election: {} no longer has the lease: {}", settings_.identity, reason);
  publish();
  finished_ = !callbacks_.on_stopped_leading || callbacks_.on_stopped_leading();
}

void LeaderElector::lose_if_late() {
  if (leading_ && around_.clock.now() >= renewed_ + settings_.renew_deadline) {
    lose("it could not be renewed in time");
  }
}

void LeaderElector::resign() {
  const bool as_seen = !must_read_;
  if (leading_) lose("it was stopped");
  if (!seen_ || seen_->record.holder != settings_.identity) return;
  if (!finished_) {
    spdlog::info("leader election: lease left to expire: the outcome of a write is not known");
    return;
  }
  if (as_seen && give_back()) return;
  // A renewal without a response, or someone else, has made a newer version.
  if (!see_answer(send_within(time_to_give_back(), Method::kGet, path_, ""))) return;
  if (seen_->record.holder == settings_.identity) give_back();
}

/// @returns false if the Lease is not as seen
bool LeaderElector::give_back() {
  const auto body = with_record(lease_, given_back(seen_->record, around_.clock.wall()));
  const auto response = send_within(time_to_give_back(), Method::kPut, path_, *body);
  if (response && response->status == 200) {
    see(response->body);
    publish();
    return true;
  }
  spdlog::info("leader election: lease not given back, it will expire: {}", why(response));
  return !response || response->status != 409;
}

Result<Response> LeaderElector::send(Method method, const std::string& path, std::string body) {
  return send_within(time_for_a_request(), method, path, std::move(body));
}

Result<Response> LeaderElector::send_within(milliseconds timeout, Method method,
                                            const std::string& path, std::string body) {
  return around_.api.call({.method = method,
                           .path = path,
                           .body = std::move(body),
                           .timeout = timeout,
                           .urgent = true});
}

milliseconds LeaderElector::time_to_give_back() const {
  return std::min(settings_.renew_deadline / 2, kLongestRelease);
}

/// Half of the deadline, as client-go's clients have it, so that a leader can try twice; but a
/// leader's attempt ends with its time.
milliseconds LeaderElector::time_for_a_request() const {
  const milliseconds usual = settings_.renew_deadline / 2;
  if (!leading_) return usual;
  const auto left = renewed_ + settings_.renew_deadline - around_.clock.now();
  return std::clamp(duration_cast<milliseconds>(left), milliseconds(1), usual);
}

milliseconds LeaderElector::pause() const {
  if (!leading_) return std::clamp(until_free(), milliseconds(1), look_interval());
  const auto left = renewed_ + settings_.renew_deadline - around_.clock.now();
  return std::clamp(duration_cast<milliseconds>(left), milliseconds(1), settings_.retry_period);
}

/// Four times as often as the leader renews, less some: a Lease that is given back is not free for
/// long. Candidates that started together drift apart.
milliseconds LeaderElector::look_interval() const {
  return duration_cast<milliseconds>(settings_.retry_period * (0.25 + 0.25 * around_.random()));
}

/// Rounded up, so that it is free then.
milliseconds LeaderElector::until_free() const {
  TimePoint free = free_from_;
  if (seen_ && !seen_->record.holder.empty()) {
    const auto valid = seen_->record.duration.value_or(settings_.lease_duration);
    free = std::max(free, seen_->since + valid);
  }
  const auto left = std::chrono::ceil<milliseconds>(free - around_.clock.now());
  return left > milliseconds(0) ? left : milliseconds::max();
}

std::optional<TimePoint> LeaderElector::leads_until() const {
  const TimePoint until = leads_until_;
  if (until == kNever) return std::nullopt;
  return until;
}

bool LeaderElector::leads_past(TimePoint deadline) const { return deadline < leads_until_.load(); }

LeaderElector::Status LeaderElector::status() const {
  const std::scoped_lock lock(mutex_);
  return status_;
}

void LeaderElector::publish() {
  const std::scoped_lock lock(mutex_);
  status_.leading = leading_;
  status_.holder = seen_ ? seen_->record.holder : "";
  status_.transitions = seen_ ? seen_->record.transitions : 0;
}

}  // namespace tangram::kube
