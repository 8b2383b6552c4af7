#pragma once

#include "base/clock.hpp"
#include "http/body_budget.hpp"
#include "http/connect_rate.hpp"
#include "http/refusal_log.hpp"
#include "http/tls/identity.hpp"
#include "http/types.hpp"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

/// What a connection knows of its server and of its client. Internal to the server.
namespace tangram::http {

/// What all sessions of a server share. Outlives them.
struct SessionContext {
  SessionContext(Options with, Handler answers)
      : options(std::move(with)),
        handler(std::move(answers)),
        bodies(options.max_bodies_bytes),
        connect_rate(options.connects_per_second, options.connects_burst) {}

  /// By the clock of the options.
  [[nodiscard]] TimePoint now() const {
    return options.clock != nullptr ? options.clock->now() : TimePoint::clock::now();
  }

  const Options options;
  const Handler handler;
  BodyBudget bodies;
  ConnectRate connect_rate;
  std::atomic<bool> stopping = false;
  std::atomic<std::uint64_t> requests = 0;           ///< handed to the handler
  std::atomic<std::uint64_t> bodies_refused = 0;     ///< answered 503 for want of memory
  std::atomic<std::uint64_t> handshakes_failed = 0;  ///< or not ended in time
  RefusalLog handshake_log;
  RefusalLog connect_log;  ///< its own, so that neither hides the other
};

/// Per read. Large enough for a name-only filter call in one go.
inline constexpr std::size_t kReadBytes = 16'384;

/// How long to read and discard after a last response, so that the client sees it and stops:
/// a socket closed with unread data resets the connection, and the response may be lost.
inline constexpr std::chrono::milliseconds kLingerTime{2'000};

}  // namespace tangram::http
