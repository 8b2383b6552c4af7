#pragma once

#include "base/result.hpp"
#include "http/types.hpp"

#include <cstdint>
#include <memory>

namespace tangram::http {

/// Since the start, but for `open`.
struct Counters {
  std::uint64_t open = 0;      ///< connections being served now
  std::uint64_t accepted = 0;  ///< connections, those turned away included
  std::uint64_t rejected = 0;  ///< found all places taken: answered 503, or just closed
  std::uint64_t evicted = 0;   ///< cut while they waited for their client, for a new connection
  std::uint64_t too_fast = 0;  ///< closed at once: their origin opens too many a second
  std::uint64_t handshakes_failed = 0;  ///< TLS that was none, not accepted, or not ended in time
  std::uint64_t bodies_refused = 0;     ///< answered 503: the bodies held took all their memory
  std::uint64_t requests = 0;           ///< handed to the handler
};

/// An HTTP/1.1 server, over TLS where the options contain certificates: its own threads, one strand
/// per connection.
///
/// Requests of one connection are answered one at a time, in order. It refuses, and then closes
/// the connection: a large body (413), a large header (431), what is not HTTP (400), a connection
/// or a body too many (503). Slow clients are cut off, by time, and at once where others need the
/// place.
///
/// Threads: every call from any thread, except that stop() and the destructor
/// must not be called by a handler: they would wait for themselves.
class Server {
 public:
  /// Listens and serves from here on.
  /// @returns kInvalidArgument for options that cannot be served, an address that
  ///          is none included; kUnavailable if the port is taken or may not be used.
  static Result<std::unique_ptr<Server>> create(Options options, Handler handler);

  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  [[nodiscard]] std::uint16_t port() const;
  [[nodiscard]] Counters counters() const;

  /// Stops accepting, closes idle connections, lets requests in flight be answered
  /// with `Connection: close` for drain_timeout at most, cuts the rest and ends the
  /// threads. Blocks until all that is done; a second call waits for the first.
  void stop();

 private:
  struct Impl;
  explicit Server(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace tangram::http
