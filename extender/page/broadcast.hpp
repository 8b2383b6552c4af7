#pragma once

#include "base/clock.hpp"
#include "extender/page/event_id.hpp"
#include "http/types.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

namespace tangram::extender {

/// What one server may spend on streams of events.
struct BroadcastLimits {
  /// Some people look at the same time; each costs a connection and, at worst, its share of the
  /// network. Further ones are refused.
  std::size_t streams = 32;
  /// Events kept for those who read slowly or were away for a moment, all streams together: a
  /// quarter of a minute of the busiest cluster, and all the memory that slow readers can hold.
  std::size_t kept_bytes = std::size_t{8} << 20;
  std::size_t kept_events = 256;
  /// A stream ends after this, and its client comes back: who may read is asked per request.
  std::chrono::seconds longest{900};
};

/// Tells many HTTP clients the same, as server-sent events: an event is made once and shared by
/// all streams, and nobody waits for a slow one.
///
/// A stream begins with the event `hello`, whose data say whether it has `resumed` behind the event
/// that the client named; if not, the client must read anew what the events tell changes of. One
/// that falls behind what is kept ends; its client comes back with its last id, and is told so.
/// Threads: safe. Streams may outlive it.
class Broadcast {
 public:
  /// @param life  another one in each life of the process
  /// @param clock  outlives all streams
  Broadcast(std::uint64_t life, const Clock& clock, BroadcastLimits limits = {});
  ~Broadcast();
  Broadcast(const Broadcast&) = delete;
  Broadcast& operator=(const Broadcast&) = delete;

  /// @param after  the last event that the client has seen
  /// @returns null if there are as many as may be
  [[nodiscard]] std::shared_ptr<http::BodyStream> open(std::optional<EventId> after);

  /// @param data  one line
  void publish(std::string_view event, std::string_view data);
  /// The last one published.
  [[nodiscard]] EventId newest() const;
  /// Something, so that those who are gone are noticed.
  void beat();
  /// Something was not told: nobody can resume from before now.
  void forget();
  /// Ends all streams; none is opened afterwards.
  void close();

  struct Counts {
    std::size_t streams = 0;
    std::uint64_t refused = 0;  ///< there were too many
    std::uint64_t dropped = 0;  ///< they read too slowly
  };
  [[nodiscard]] Counts counts() const;

 private:
  struct State;
  class Stream;
  std::shared_ptr<State> state_;
};

}  // namespace tangram::extender
