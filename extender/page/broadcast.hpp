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
  /// For a few people at the same time. Each stream costs a connection and, at worst, its share of
  /// the network. Further ones are refused.
  std::size_t streams = 32;
  /// Events kept for slow and reconnecting clients, all streams together: a
  /// quarter of a minute of the busiest cluster, and all the memory that slow readers can hold.
  std::size_t kept_bytes = std::size_t{8} << 20;
  std::size_t kept_events = 256;
  /// A stream ends after this, and its client reconnects: access is checked for each request.
  std::chrono::seconds longest{900};
};

/// Sends the same server-sent events to many HTTP clients: an event is made once and shared by all
/// streams, and no stream waits for a slow one.
///
/// A stream begins with the event `hello`, whose data say whether it has `resumed` behind the event
/// that the client named. If not, the client must read anew what the events are changes of. A
/// stream that falls behind what is kept ends; its client reconnects with its last id, and is not
/// resumed. Threads: safe. Streams may outlive it.
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
  /// Sends a heartbeat, so that lost connections are noticed.
  void beat();
  /// Something was not published: no client can resume from before now.
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
