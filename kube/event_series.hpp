#pragma once

#include "base/clock.hpp"
#include "kube/rate_limiter.hpp"

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

namespace tangram::kube {

/// Something that people should find under `kubectl describe`.
struct EventNote {
  enum class Type { kNormal, kWarning };
  std::string kind;  ///< of the object it is about: "Pod", "Node" (of the API group v1)
  std::string ns;    ///< "" for a Node
  std::string name;
  std::string uid;
  Type type = Type::kNormal;
  std::string reason;  ///< why, as one word for programs: "CardFailed"
  std::string action;  ///< what was done or tried, as one word: "Binding"
  std::string note;    ///< a sentence for people; cut to 1024 bytes, as the server demands
};

/// The most recently used values by key: at most so many. Threads: one at a time.
template <class Value>
class RecentMap {
 public:
  explicit RecentMap(std::size_t most) : most_(most) {}

  /// The value under the key, `make()` if there is none. Valid until the next call.
  template <class Make>
  Value& at(const std::string& key, const Make& make) {
    if (const auto found = index_.find(key); found != index_.end()) {
      entries_.splice(entries_.begin(), entries_, found->second);
      return entries_.front().second;
    }
    if (entries_.size() == most_) {
      index_.erase(entries_.back().first);
      entries_.pop_back();
    }
    entries_.emplace_front(key, make());
    index_.emplace(key, entries_.begin());
    return entries_.front().second;
  }
  void erase(const std::string& key) {
    const auto found = index_.find(key);
    if (found == index_.end()) return;
    entries_.erase(found->second);
    index_.erase(found);
  }

 private:
  const std::size_t most_;
  std::list<std::pair<std::string, Value>> entries_;  ///< the latest first
  std::unordered_map<std::string, typename decltype(entries_)::iterator> index_;
};

/// Decides what becomes of a note: a new event, one more of a series, or nothing because its object
/// has had too many. Makes no calls. Threads: one at a time.
class EventSeries {
 public:
  explicit EventSeries(const Clock& clock);

  struct Write {
    std::string name;  ///< of the event
    int count = 1;     ///< from 2 on: of the series, and the event is there already
  };
  /// @returns nothing if no more may be written now
  std::optional<Write> take(const EventNote& note);

  /// The event is not there: the next note like this makes a new one.
  void forget(const EventNote& note);

 private:
  struct Series {
    std::string event;  ///< "" = not written yet
    int count = 0;
    TimePoint last_seen;
  };
  [[nodiscard]] bool may_write(const EventNote& note);
  [[nodiscard]] std::string event_name(const EventNote& note);

  const Clock& clock_;
  RecentMap<Series> series_;
  RecentMap<std::unique_ptr<RateLimiter>> objects_;
  RateLimiter all_;
  std::uint64_t last_stamp_ = 0;
};

}  // namespace tangram::kube
