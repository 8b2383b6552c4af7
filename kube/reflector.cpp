#include "kube/reflector.hpp"

#include "kube/client.hpp"
#include "kube/list_pages.hpp"
#include "kube/list_watch_codec.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

namespace tangram::kube {

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// One page of 500 full pods is some MiB; a busy server may take its time.
constexpr milliseconds kListTimeout{30'000};
// client-go's: 5 to 10 minutes, so that watches spread over the servers behind a balancer.
constexpr seconds kWatchAtLeast{300};
constexpr seconds kWatchSpread{300};
// A list comes before the watch on the same stream: 4.4 GB, 200,000 full pods, take five minutes at
// 15 MB/s.
constexpr seconds kStreamAtLeast{1'800};
// Bookmarks come about every minute, so two are missing. Below the client's own limit.
constexpr seconds kSilent{120};
// One object at most, but of a server that may have just started.
constexpr milliseconds kPositionTimeout{10'000};
// The server ends a watch by itself; this much later the connection counts as dead.
constexpr seconds kWatchSlack{30};
// A stream that ends at once without an event is an error in disguise (client-go's rule).
constexpr seconds kShortWatch{1};

constexpr int kOk = 200;
constexpr int kGone = 410;
constexpr int kForbidden = 403;
constexpr int kNotFound = 404;

/// How servers of each age report that they have no streaming lists.
bool refuses_streams(const Result<Response>& response) {
  return response &&
         (response->status == 400 || response->status == 403 || response->status == 422);
}

}  // namespace

void WholeListSink::begin_list() {
  objects_.clear();
  kept_ = 0;
}

void WholeListSink::listed(std::string_view object) {
  std::string key = object_key(object);
  forget(key);
  kept_ += key.size() + object.size();
  objects_.emplace(std::move(key), object);
}

void WholeListSink::unlisted(std::string_view object) { forget(object_key(object)); }

void WholeListSink::forget(const std::string& key) {
  const auto found = objects_.find(key);
  if (found == objects_.end()) return;
  kept_ -= key.size() + found->second.size();
  objects_.erase(found);
}

void WholeListSink::end_list() {
  std::vector<std::string> objects;
  objects.reserve(objects_.size());
  for (auto& [key, object] : objects_) objects.push_back(std::move(object));
  objects_.clear();
  kept_ = 0;
  replace(std::move(objects));
}

Reflector::Reflector(KubeApi& api, ReflectorOptions options, ObjectSink& sink, const Clock& clock,
                     Sleeper sleeper)
    : api_(api),
      options_(std::move(options)),
      sink_(sink),
      clock_(clock),
      sleeper_(std::move(sleeper)),
      backoff_(options_.first_backoff) {}

void Reflector::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    std::stop_source turn = begin_turn();
    const std::stop_callback end(stop, [&] { turn.request_stop(); });
    const Outcome outcome = take_turn(turn.get_token());
    if (options_.optional && outcome && outcome->status == kNotFound) return;
    if (options_.optional && outcome && outcome->status == kForbidden) {
      return spdlog::warn("{} is not watched: {}", options_.path, outcome->message);
    }
    if (outcome && !turn.stop_requested()) recover(*outcome, turn.get_token());
  }
}

std::uint64_t Reflector::relist() {
  const auto [ticket, turn] = [this] {
    const std::lock_guard lock(mutex_);
    return std::pair(++asked_, turn_);
  }();
  turn.request_stop();
  return ticket;
}

void Reflector::relist_unless_asked() {
  {
    const std::lock_guard lock(mutex_);
    if (asked_ > health_.relisted) return;
  }
  relist();
}

std::stop_source Reflector::begin_turn() {
  const std::lock_guard lock(mutex_);
  if (asked_ > health_.relisted) version_.clear();
  serving_ = asked_;
  turn_ = std::stop_source();
  return turn_;
}

Reflector::Outcome Reflector::take_turn(const std::stop_token& stop) {
  if (version_.empty() || interrupted_) {
    change_health([](Health& health) { health.following = false; });
  }
  if (version_.empty()) return streams_ && !by_pages_ ? stream(stop) : list(stop);
  if (interrupted_) {
    if (auto failure = check_position()) return failure;
  }
  return watch(stop);
}

/// A restored server has not come back to the version that we have seen.
Reflector::Outcome Reflector::check_position() {
  const auto version = list_version(api_, options_.path, selection(), kPositionTimeout);
  if (!version) return Failure{.message = version.error().message};
  if (older_version(*version, version_)) {
    return Failure{.expired = true,
                   .message = "the server is at version " + *version + ", before " + version_ +
                              ": it was restored from a backup"};
  }
  interrupted_ = false;
  return std::nullopt;
}

/// Whatever comes of it, the next turn lists again unless the list has ended.
Reflector::Outcome Reflector::stream(const std::stop_token& stop) {
  listing_ = true;
  sink_.begin_list();
  Outcome outcome = watch(stop);
  // Whatever a stream fails for, pages may come through.
  by_pages_ = listing_;
  listing_ = false;
  if (streams_) return outcome;
  spdlog::debug("{}: the server has no streaming lists", options_.path);
  return std::nullopt;
}

template <class Change>
void Reflector::change_health(const Change& change) {
  const std::lock_guard lock(mutex_);
  change(health_);
}

void Reflector::end_list() {
  sink_.end_list();
  interrupted_ = false;
  change_health([this](Health& health) {
    health.synced = true;
    health.version = version_;
    health.last_heard = clock_.now();
    health.relisted = serving_;
    ++health.lists;
  });
}

/// The clock's nanoseconds serve as random numbers: many reflectors that fail at one moment do not
/// all come back at one moment.
milliseconds Reflector::spread(milliseconds wait) const {
  const auto nanos = clock_.now().time_since_epoch().count() % 1'000'000;
  return wait + wait * nanos / 2'000'000;
}

void Reflector::recover(const Failure& failure, const std::stop_token& stop) {
  change_health([](Health& health) {
    health.following = false;
    ++health.errors;
  });
  const bool first_expiry = failure.expired && !expired_before_;
  if (failure.expired) expired_before_ = true;
  if (failure.expired || failure.too_large) version_.clear();
  // The list's stream would come to the same frame; a page may be longer.
  if (failure.too_large) by_pages_ = true;
  if (first_expiry) {
    spdlog::info("{}: {}; listing again", options_.path, failure.message);
    return;
  }
  const milliseconds requested = failure.retry_after.value_or(seconds(0));
  const milliseconds wait = std::max(spread(backoff_), requested);
  spdlog::warn("{}: {}; trying again in {} ms", options_.path, failure.message, wait.count());
  backoff_ = std::min(backoff_ * 2, options_.max_backoff);
  sleeper_(wait, stop);
}

Reflector::Health Reflector::health() const {
  const std::lock_guard lock(mutex_);
  return health_;
}

Reflector::Failure Reflector::refused(const std::string& what, const Response& response) {
  return {
      .expired = response.status == kGone,
      .status = response.status,
      .message = what + ": " + std::to_string(response.status) + ": " + status_message(response),
      .retry_after = response.retry_after};
}

Reflector::Outcome Reflector::keeps_too_much() const {
  const std::size_t kept = sink_.kept_bytes();
  if (kept <= options_.max_kept_bytes) return std::nullopt;
  return Failure{.message = "what must be kept of the list takes " + std::to_string(kept) +
                            " bytes so far, more than " + std::to_string(options_.max_kept_bytes)};
}

Reflector::Outcome Reflector::take_page(ListPages& pages) {
  // All of a page is delivered, or nothing more after the first object that is too much.
  Outcome too_much;
  const auto response = pages.next([&](std::string_view object) {
    if (too_much) return;
    sink_.listed(object);
    too_much = keeps_too_much();
  });
  if (!response) return Failure{.message = "list: " + response.error().message};
  if (response->status != kOk) return refused("list", *response);
  return too_much;
}

Reflector::Outcome Reflector::list(const std::stop_token& stop) {
  ListPages pages(api_, {.path = options_.path, .query = selection(), .timeout = kListTimeout},
                  options_.page_size);
  by_pages_ = false;
  sink_.begin_list();
  while (!pages.ended()) {
    if (auto failure = take_page(pages)) return failure;
    if (stop.stop_requested()) return std::nullopt;
  }
  version_ = pages.version();
  end_list();
  return std::nullopt;
}

Reflector::Outcome Reflector::take(const std::string& text) {
  auto frame = read_watch_event(text);
  if (!frame) return Failure{.message = "watch: " + frame.error().message};
  if (frame->is_error) {
    return Failure{.expired = frame->code == kGone,
                   .message = "watch: " + std::to_string(frame->code) + ": " + frame->message};
  }
  if (listing_) return take_listed(std::move(*frame));
  if (older_version(frame->version, version_)) {
    return Failure{.expired = true,
                   .message = "watch: version " + frame->version + " after " + version_};
  }
  if (frame->change) sink_.change(*frame->change, frame->object);
  version_ = std::move(frame->version);
  backoff_ = options_.first_backoff;
  expired_before_ = false;
  change_health([this](Health& health) {
    health.version = version_;
    health.last_heard = clock_.now();
  });
  return std::nullopt;
}

/// A frame before the list's end. Changes may come between what there is.
Reflector::Outcome Reflector::take_listed(WatchEvent frame) {
  if (frame.change) {
    if (*frame.change == EventType::kDeleted) {
      sink_.unlisted(frame.object);
      return std::nullopt;
    }
    sink_.listed(frame.object);
    return keeps_too_much();
  }
  if (!frame.ends_list) {
    // A server that does not know the parameter never ends its list, but it sends this.
    streams_ = false;
    return std::nullopt;
  }
  listing_ = false;
  version_ = std::move(frame.version);
  end_list();
  begin_watch();  // as such the stream goes on
  return std::nullopt;
}

std::map<std::string, std::string> Reflector::selection() const {
  if (options_.field_selector.empty()) return {};
  return {{"fieldSelector", options_.field_selector}};
}

Request Reflector::watch_request() const {
  const auto spread_over = static_cast<std::uint64_t>(kWatchSpread.count());
  const auto nanos = static_cast<std::uint64_t>(clock_.now().time_since_epoch().count());
  const seconds at_least = listing_ ? kStreamAtLeast : kWatchAtLeast;
  const seconds lasts = at_least + seconds(nanos % 1'000'000 % spread_over);
  Request request{.path = options_.path, .query = selection(), .timeout = lasts + kWatchSlack};
  request.query["allowWatchBookmarks"] = "true";
  request.query["timeoutSeconds"] = std::to_string(lasts.count());
  if (listing_) {
    // Without a version the list is consistent: as of now, not of what the server had cached.
    request.query["sendInitialEvents"] = "true";
    request.query["resourceVersionMatch"] = "NotOlderThan";
  } else {
    request.query["resourceVersion"] = version_;
  }
  return request;
}

/// What a stream that ended without a failure of its own means.
Reflector::Outcome Reflector::judge_end(const Result<Response>& response, bool worked) {
  if (!response) {
    return Failure{.too_large = response.error().code == Errc::kTooLarge,
                   .message = "watch: " + response.error().message};
  }
  if (response->status != kOk) return refused("watch", *response);
  if (listing_) return Failure{.message = "the list's stream ended before it did"};
  if (!worked) return Failure{.message = "watch: ended at once without an event"};
  backoff_ = options_.first_backoff;
  expired_before_ = false;
  return std::nullopt;
}

void Reflector::begin_watch() {
  change_health([](Health& health) {
    health.following = true;
    ++health.watches;
  });
}

Reflector::Outcome Reflector::watch(const std::stop_token& stop) {
  if (!listing_) begin_watch();
  const TimePoint begin = clock_.now();
  const Request request = watch_request();
  Outcome failure;
  bool had_frames = false;
  const auto response = api_.watch(
      request,
      [&](const std::string& frame) {
        if (stop.stop_requested()) return false;
        failure = take(frame);
        had_frames = true;
        return !failure && (streams_ || !listing_);
      },
      stop);
  const auto lasted = clock_.now() - begin;
  // A kind without changes is silent, too, so silence is only a reason to check the position.
  const bool silent = !had_frames && lasted >= kSilent;
  interrupted_ = !response || silent || lasted < request.timeout - kWatchSlack;
  if (listing_ && refuses_streams(response)) streams_ = false;
  if (failure) return failure;
  return judge_end(response, had_frames || lasted >= kShortWatch);
}

void watch_if_served(KubeApi& api, std::vector<ReflectorOptions> versions, ObjectSink& sink,
                     const Clock& clock, const std::stop_token& stop, const Sleeper& sleeper) {
  for (ReflectorOptions& version : versions) version.optional = true;
  while (!stop.stop_requested()) {
    for (const ReflectorOptions& version : versions) {
      Reflector(api, version, sink, clock, sleeper).run(stop);
    }
    if (!stop.stop_requested()) sleeper(kLookForKind, stop);
  }
}

}  // namespace tangram::kube
