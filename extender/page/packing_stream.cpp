#include "extender/page/packing_stream.hpp"

#include "base/metric_family.hpp"
#include "base/sleeper.hpp"
#include "cluster/packing_json.hpp"

namespace tangram::extender {

namespace {

/// Browsers send the header when they reconnect by themselves, but not with a stream that a page
/// opens: a page that opens its stream anew names the event in the target.
std::optional<EventId> last_seen(const http::Request& request) {
  const std::string_view header = request.header("Last-Event-ID");
  if (!header.empty()) return parse_event_id(header);
  const auto after = request.query.find("after");
  return after == request.query.end() ? std::nullopt : parse_event_id(after->second);
}

http::Response too_many_streams() {
  return http::retry_response(
      std::chrono::seconds(10),
      "as many pages follow the packing as this service has streams for; retry later");
}

/// The moment the process began, which no other life of it shares.
std::uint64_t life_of(const Clock& clock) {
  return static_cast<std::uint64_t>(clock.wall().time_since_epoch().count());
}

}  // namespace

PackingStream::PackingStream(Parts parts, BroadcastLimits limits)
    : parts_(parts), broadcast_(life_of(parts.clock), parts.clock, limits) {}

std::string PackingStream::packing() {
  PackingChanges::Reported reported;
  EventId event;
  {
    const std::scoped_lock lock(mutex_);
    be_needed();
    reported = changes_.reported();
    event = broadcast_.newest();
  }
  return cluster::packing_json(to_string(event), reported.nodes, reported.waiting);
}

http::Response PackingStream::open(const http::Request& request) {
  const std::scoped_lock lock(mutex_);
  http::Response response;
  response.stream = broadcast_.open(last_seen(request));
  if (!response.stream) return too_many_streams();
  be_needed();
  response.content_type = "text/event-stream";
  response.headers.push_back({"Cache-Control", "no-store"});
  response.headers.push_back(
      {"X-Accel-Buffering", "no"});  // else nginx and other proxies buffer it
  return response;
}

void PackingStream::look() {
  const std::scoped_lock lock(mutex_);
  if (!looking_) return;
  const TimePoint now = parts_.clock.now();
  if (broadcast_.counts().streams > 0) {
    needed_ = now;
  } else if (now - needed_ > kQuiet) {
    return rest();
  }
  const std::string text = changes_.next(*parts_.ledger.snapshot(), parts_.pods);
  if (!text.empty()) {
    broadcast_.publish("change", text);
  } else if (now - beat_ < kBeat) {
    return;
  } else {
    broadcast_.beat();
  }
  beat_ = now;
}

void PackingStream::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    look();
    sleep_until_stopped(kInterval, stop);
  }
}

void PackingStream::be_needed() {
  needed_ = parts_.clock.now();
  if (looking_) return;
  changes_.catch_up(*parts_.ledger.snapshot(), parts_.pods);
  looking_ = true;
}

void PackingStream::rest() {
  broadcast_.forget();
  changes_.forget();
  looking_ = false;
}

std::vector<prometheus::MetricFamily> PackingStream::Collect() const {
  const Broadcast::Counts streams = counts();
  MetricFamilies all;
  MetricFamily::gauge("tangram_event_streams", "Pages that follow the packing.")
      .add({}, streams.streams)
      .into(all);
  MetricFamily::counter("tangram_event_streams_shed_total",
                        "Streams of events that were not served to stay within limits, by what: "
                        "refused (there were as many as may be), dropped (read too slowly).")
      .add({{"what", "refused"}}, streams.refused)
      .add({{"what", "dropped"}}, streams.dropped)
      .into(all);
  return all;
}

}  // namespace tangram::extender
