#include "kube/events.hpp"

#include "base/json.hpp"
#include "base/utf8.hpp"
#include "kube/client.hpp"
#include "kube/url.hpp"

#include <spdlog/spdlog.h>

#include <string_view>
#include <utility>

namespace tangram::kube {

namespace {

// client-go's. A burst of binds writes some hundred.
constexpr std::size_t kQueue = 1000;
// What the server takes (core/validation/events.go).
constexpr std::size_t kMaxNote = 1024;
constexpr std::size_t kMaxWord = 128;

/// Events about what has no namespace lie in this one.
std::string namespace_of(const EventNote& note) { return note.ns.empty() ? "default" : note.ns; }

std::string events_path(const EventNote& note) {
  return "/apis/events.k8s.io/v1/namespaces/" + percent_encode(namespace_of(note)) + "/events";
}

void write_regarding(json::Writer& out, const EventNote& note) {
  out.key("regarding").begin_object();
  out.member("apiVersion", "v1").member("kind", note.kind).member("name", note.name);
  if (!note.ns.empty()) out.member("namespace", note.ns);
  if (!note.uid.empty()) out.member("uid", note.uid);
  out.end_object();
}

std::string_view type_text(EventNote::Type type) {
  return type == EventNote::Type::kWarning ? "Warning" : "Normal";
}

}  // namespace

EventRecorder::EventRecorder(KubeApi& api, EventReporter reporter, const Clock& clock)
    : api_(api),
      reporter_(std::move(reporter)),
      clock_(clock),
      series_(clock),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

EventRecorder::~EventRecorder() = default;

void EventRecorder::record(EventNote note) {
  const WallTime time = clock_.wall();
  note.note.resize(utf8_prefix(note.note, kMaxNote).size());  // here: it is kept from now on
  const std::lock_guard lock(mutex_);
  if (queue_.size() >= kQueue) {
    ++counts_.overflow;
    return;
  }
  queue_.push_back({std::move(note), time});
  ++accepted_;
  changed_.notify_all();
}

bool EventRecorder::flush(std::chrono::milliseconds limit) {
  std::unique_lock lock(mutex_);
  const std::uint64_t until = accepted_;
  return changed_.wait_for(lock, limit, [&] { return finished_ >= until; });
}

EventRecorder::Counts EventRecorder::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

void EventRecorder::run(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (changed_.wait(lock, stop, [&] { return !queue_.empty(); }) && !stop.stop_requested()) {
    const Entry entry = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    const Fate fate = write(entry);
    lock.lock();
    ++(fate == Fate::kWritten   ? counts_.written
       : fate == Fate::kLimited ? counts_.limited
                                : counts_.failed);
    ++finished_;
    changed_.notify_all();
  }
}

EventRecorder::Fate EventRecorder::write(const Entry& entry) {
  auto event = series_.take(entry.note);
  if (!event) return Fate::kLimited;
  const bool repeats = event->count > 1;
  auto response = api_.call(repeats ? count_request(entry, *event) : create_request(entry, *event));
  if (repeats && response && response->status == 404) {
    // Events expire after an hour, or it was deleted.
    series_.forget(entry.note);
    event = series_.take(entry.note);
    if (!event) return Fate::kLimited;
    response = api_.call(create_request(entry, *event));
  }
  if (response && (response->status == 200 || response->status == 201)) return Fate::kWritten;
  if (!repeats) series_.forget(entry.note);
  spdlog::info("event {} of {}/{} was not written: {}", entry.note.reason, entry.note.ns,
               entry.note.name, response ? status_message(*response) : response.error().message);
  return Fate::kFailed;
}

Request EventRecorder::create_request(const Entry& entry, const EventSeries::Write& event) const {
  const EventNote& note = entry.note;
  Request request;
  request.method = Method::kPost;
  request.path = events_path(note);
  json::Writer out(request.body);
  out.begin_object().member("apiVersion", "events.k8s.io/v1").member("kind", "Event");
  out.key("metadata").begin_object();
  out.member("name", event.name).member("namespace", namespace_of(note)).end_object();
  out.member("eventTime", rfc3339_micro(entry.time));
  out.member("reportingController", reporter_.controller);
  out.member("reportingInstance", utf8_prefix(reporter_.instance, kMaxWord));
  out.member("type", type_text(note.type));
  out.member("reason", utf8_prefix(note.reason, kMaxWord));
  out.member("action", utf8_prefix(note.action, kMaxWord));
  out.member("note", note.note);
  write_regarding(out, note);
  out.end_object();
  return request;
}

Request EventRecorder::count_request(const Entry& entry, const EventSeries::Write& event) const {
  Request request;
  request.method = Method::kPatch;
  request.path = events_path(entry.note) + "/" + percent_encode(event.name);
  request.content_type = "application/merge-patch+json";
  json::Writer out(request.body);
  out.begin_object().key("series").begin_object();
  out.member("count", event.count).member("lastObservedTime", rfc3339_micro(entry.time));
  out.end_object().end_object();
  return request;
}

}  // namespace tangram::kube
