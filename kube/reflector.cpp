#include "kube/reflector.hpp"

#include "base/json.hpp"
#include "kube/client.hpp"

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
// The server ends a watch by itself; this much later the connection counts as dead.
constexpr seconds kWatchSlack{30};
// A stream that ends at once and says nothing is an error in disguise (client-go's rule).
constexpr seconds kShortWatch{1};

constexpr int kGone = 410;

struct Frame {
  std::string type;
  std::string object;
  std::string version;  ///< metadata.resourceVersion
  std::string message;  ///< of a Status
  std::int64_t code = 0;
};

void read_version(json::Reader& in, std::string& version) {
  in.object([&](std::string_view key) {
    if (key == "resourceVersion") {
      version = in.string();
    } else {
      in.skip();
    }
  });
}

void read_frame_object(json::Reader& in, Frame& frame) {
  in.object([&](std::string_view key) {
    if (key == "metadata") {
      read_version(in, frame.version);
    } else if (key == "code" && in.kind() == json::Kind::kNumber) {
      frame.code = in.integer();
    } else if (key == "message" && in.kind() == json::Kind::kString) {
      frame.message = in.string();
    } else {
      in.skip();
    }
  });
}

Result<Frame> read_frame(const std::string& text) {
  std::string copy = text;  // parsed in place; the object is cut from the original
  json::Reader in(copy);
  Frame frame;
  in.object([&](std::string_view key) {
    if (key == "type") {
      frame.type = in.string();
    } else if (key == "object") {
      const auto span = in.span();
      frame.object = text.substr(span.begin, span.end - span.begin);
      read_frame_object(in, frame);
    } else {
      in.skip();
    }
  });
  if (auto done = in.finish(); !done) return done.error();
  const bool needs_version = frame.type != "ERROR";
  if (frame.object.empty() || (needs_version && frame.version.empty())) {
    return fail(Errc::kInvalidArgument, "a frame needs object.metadata.resourceVersion");
  }
  return frame;
}

std::optional<EventType> event_type(std::string_view type) {
  if (type == "ADDED") return EventType::kAdded;
  if (type == "MODIFIED") return EventType::kModified;
  if (type == "DELETED") return EventType::kDeleted;
  return std::nullopt;
}

struct ListPage {
  std::string version;
  std::string more;
};

void read_list_metadata(json::Reader& in, ListPage& page) {
  in.object([&](std::string_view key) {
    if (key == "resourceVersion") {
      page.version = in.string();
    } else if (key == "continue") {
      page.more = in.string_or_null();
    } else {
      in.skip();
    }
  });
}

/// Cuts a list into the texts of its items.
Result<ListPage> read_list(const std::string& text, std::vector<std::string>& objects) {
  std::string copy = text;
  json::Reader in(copy);
  ListPage page;
  in.object([&](std::string_view key) {
    if (key == "metadata") {
      read_list_metadata(in, page);
    } else if (key == "items") {
      in.array([&] {
        const auto span = in.span();
        if (span.end == 0) return in.fail("expected an object");
        objects.push_back(text.substr(span.begin, span.end - span.begin));
        in.skip();
      });
    } else {
      in.skip();
    }
  });
  if (auto done = in.finish(); !done) return done.error();
  if (page.version.empty()) {
    return fail(Errc::kInvalidArgument, "a list needs metadata.resourceVersion");
  }
  return page;
}

}  // namespace

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
    const Outcome outcome = version_.empty() ? list(stop) : watch(stop);
    if (outcome && !stop.stop_requested()) recover(*outcome, stop);
  }
}

/// The clock's nanoseconds stand in for chance: many reflectors that fail at one moment do not all
/// come back at one moment.
milliseconds Reflector::spread(milliseconds wait) const {
  const auto nanos = clock_.now().time_since_epoch().count() % 1'000'000;
  return wait + wait * nanos / 2'000'000;
}

void Reflector::recover(const Trouble& trouble, const std::stop_token& stop) {
  {
    const std::lock_guard lock(mutex_);
    ++health_.errors;
  }
  const bool first_expiry = trouble.expired && !expired_before_;
  if (trouble.expired) {
    version_.clear();
    expired_before_ = true;
  }
  if (first_expiry) {
    spdlog::info("{}: {}; listing again", options_.path, trouble.message);
    return;
  }
  const milliseconds asked = trouble.retry_after.value_or(seconds(0));
  const milliseconds wait = std::max(spread(backoff_), asked);
  spdlog::warn("{}: {}; trying again in {} ms", options_.path, trouble.message, wait.count());
  backoff_ = std::min(backoff_ * 2, options_.max_backoff);
  sleeper_(wait, stop);
}

Reflector::Health Reflector::health() const {
  const std::lock_guard lock(mutex_);
  return health_;
}

void Reflector::heard() {
  const std::lock_guard lock(mutex_);
  health_.last_heard = clock_.now();
}

Reflector::Outcome Reflector::take_page(const Response& response, std::vector<std::string>& objects,
                                        std::string& more) {
  if (response.status != 200) {
    return Trouble{response.status == kGone,
                   "list: " + std::to_string(response.status) + ": " + status_message(response),
                   response.retry_after};
  }
  auto page = read_list(response.body, objects);
  if (!page) return Trouble{false, "list: " + page.error().message, {}};
  more = std::move(page->more);
  version_ = std::move(page->version);
  return std::nullopt;
}

Reflector::Outcome Reflector::list(const std::stop_token& stop) {
  Request request;
  request.path = options_.path;
  request.timeout = kListTimeout;
  request.query["limit"] = std::to_string(options_.page_size);
  if (!options_.field_selector.empty()) request.query["fieldSelector"] = options_.field_selector;
  std::vector<std::string> objects;
  std::string more;
  do {
    const auto response = api_.call(request);
    Outcome trouble = response ? take_page(*response, objects, more)
                               : Trouble{false, "list: " + response.error().message, {}};
    if (trouble || stop.stop_requested()) {
      version_.clear();
      return trouble;
    }
    request.query["continue"] = more;
  } while (!more.empty());
  sink_.replace(std::move(objects));
  const std::lock_guard lock(mutex_);
  health_.synced = true;
  health_.last_heard = clock_.now();
  ++health_.lists;
  return std::nullopt;
}

Reflector::Outcome Reflector::take(const std::string& text) {
  auto frame = read_frame(text);
  if (!frame) return Trouble{false, "watch: " + frame.error().message, {}};
  if (frame->type == "ERROR") {
    return Trouble{
        frame->code == kGone, "watch: " + std::to_string(frame->code) + ": " + frame->message, {}};
  }
  const auto type = event_type(frame->type);
  if (!type && frame->type != "BOOKMARK") {
    return Trouble{false, "watch: unknown frame type \"" + frame->type + "\"", {}};
  }
  if (type) sink_.change(*type, std::move(frame->object));
  version_ = std::move(frame->version);
  backoff_ = options_.first_backoff;
  expired_before_ = false;
  heard();
  return std::nullopt;
}

Request Reflector::watch_request() const {
  const auto spread_over = static_cast<std::uint64_t>(kWatchSpread.count());
  const auto nanos = static_cast<std::uint64_t>(clock_.now().time_since_epoch().count());
  const seconds lasts = kWatchAtLeast + seconds(nanos % 1'000'000 % spread_over);
  Request request;
  request.path = options_.path;
  request.timeout = lasts + kWatchSlack;
  request.query = {{"resourceVersion", version_},
                   {"allowWatchBookmarks", "true"},
                   {"timeoutSeconds", std::to_string(lasts.count())}};
  if (!options_.field_selector.empty()) request.query["fieldSelector"] = options_.field_selector;
  return request;
}

/// What a stream that ended without trouble of its own means.
Reflector::Outcome Reflector::judge_end(const Result<Response>& response, bool worked) {
  if (!response) return Trouble{false, "watch: " + response.error().message, {}};
  if (response->status != 200) {
    return Trouble{response->status == kGone,
                   "watch: " + std::to_string(response->status) + ": " + status_message(*response),
                   response->retry_after};
  }
  if (!worked) return Trouble{false, "watch: ended at once and said nothing", {}};
  backoff_ = options_.first_backoff;
  expired_before_ = false;
  return std::nullopt;
}

Reflector::Outcome Reflector::watch(const std::stop_token& stop) {
  {
    const std::lock_guard lock(mutex_);
    ++health_.watches;
  }
  const TimePoint begin = clock_.now();
  Outcome trouble;
  bool said_something = false;
  const auto response = api_.watch(
      watch_request(),
      [&](const std::string& frame) {
        if (stop.stop_requested()) return false;
        trouble = take(frame);
        said_something = true;
        return !trouble.has_value();
      },
      stop);
  if (trouble) return trouble;
  return judge_end(response, said_something || clock_.now() - begin >= kShortWatch);
}

}  // namespace tangram::kube
