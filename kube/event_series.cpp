#include "kube/event_series.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>

namespace tangram::kube {

namespace {

using std::chrono::nanoseconds;

// client-go's, as are the next three: what repeats within this is one series.
constexpr std::chrono::minutes kSeriesEnds{10};
constexpr int kObjectBurst = 25;
constexpr std::chrono::minutes kObjectInterval{5};
constexpr std::size_t kRemembered = 4096;
// Of all objects together. Each is a write to etcd, where it stays for an hour: 36,000 at most.
constexpr int kAllPerSecond = 10;
constexpr int kAllBurst = 100;
// A name is at most a DNS subdomain long; 17 are the dot and the number.
constexpr std::size_t kMaxObjectName = 253 - 17;

std::string object_of(const EventNote& note) {
  return note.kind + "/" + note.ns + "/" + note.name + "/" + note.uid;
}

std::string series_of(const EventNote& note) {
  return object_of(note) + "/" + note.reason + "/" + note.note;
}

}  // namespace

EventSeries::EventSeries(const Clock& clock)
    : clock_(clock),
      series_(kRemembered),
      objects_(kRemembered),
      all_(kAllPerSecond, kAllBurst, clock) {}

std::optional<EventSeries::Write> EventSeries::take(const EventNote& note) {
  Series& series = series_.at(series_of(note), [] { return Series{}; });
  const TimePoint now = clock_.now();
  if (now - series.last_seen > kSeriesEnds) series = {};
  series.last_seen = now;
  ++series.count;  // also if it is not written: the next one has the count
  if (!may_write(note)) return std::nullopt;
  if (series.event.empty()) {
    series.event = event_name(note);
    series.count = 1;
  }
  return Write{series.event, series.count};
}

bool EventSeries::may_write(const EventNote& note) {
  const auto& object = objects_.at(object_of(note), [&] {
    return std::make_unique<RateLimiter>(nanoseconds(kObjectInterval), kObjectBurst, clock_);
  });
  return object->reserve(nanoseconds(0)) && all_.reserve(nanoseconds(0));
}

void EventSeries::forget(const EventNote& note) { series_.erase(series_of(note)); }

/// "train-0.17f3a1b2c3d4e5f6": the time, made different where the clock does not do so.
std::string EventSeries::event_name(const EventNote& note) {
  const auto wall = std::chrono::duration_cast<nanoseconds>(clock_.wall().time_since_epoch());
  last_stamp_ = std::max(last_stamp_ + 1, static_cast<std::uint64_t>(wall.count()));
  std::array<char, 16> hex{};
  const auto end = std::to_chars(hex.data(), hex.data() + hex.size(), last_stamp_, 16).ptr;
  std::string name = note.name.substr(0, kMaxObjectName);
  name.erase(name.find_last_not_of(".-") + 1);  // a part of a name ends with a letter or a digit
  return name.append(".").append(hex.data(), end);
}

}  // namespace tangram::kube
