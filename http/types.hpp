#pragma once

#include "base/clock.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// What passes between the HTTP server and the code that answers. No header of
/// the HTTP library is needed to write or test a handler.
namespace tangram::http {

namespace tls {
class Identity;
}

/// A client that proved in the handshake that a certificate is its own, one that the server's
/// client CA vouches for.
struct TlsClient {
  std::vector<std::string> names;  ///< common name, then the DNS names of the certificate
  std::chrono::system_clock::time_point expires;
};

struct Header {
  std::string name;
  std::string value;
};

/// One request, read completely. The handler owns it, so JSON may be parsed in place.
struct Request {
  std::string method;  ///< "GET", "POST", ...; HEAD stays HEAD, its body is dropped on the way out
  std::string path;    ///< decoded, without the query: "/api/v1/explain"
  std::map<std::string, std::string, std::less<>> query;  ///< decoded; of equal names the first
  std::vector<Header> headers;                            ///< as sent, in order
  std::string body;
  std::shared_ptr<const TlsClient> client = {};  ///< null = not authenticated
  std::string origin = {};   ///< the client's address, as connections compete by; "" = not known
  std::string address = {};  ///< the client's whole address, which of IPv6 `origin` is not
  TimePoint arrived = {};    ///< when its first bytes were read, by the clock of the Options

  /// The first header of that name, letter case ignored; "" if there is none.
  [[nodiscard]] std::string_view header(std::string_view name) const;
};

/// Appends the next piece of a body to `out` and says whether there is more.
///
/// Called on an io thread, one call at a time, never after it returned false. A
/// piece of some 64 KiB serves best: a much larger one holds that thread, and is
/// held whole in memory. What it throws is logged and cuts the connection, so
/// that the client does not take half a page for a whole one.
using BodyProducer = std::function<bool(std::string& out)>;

/// A body without a known end, whose next piece may not be there yet.
///
/// It ends with its connection. Called on an io thread, one call at a time; must not wait.
class BodyStream {
 public:
  BodyStream() = default;
  virtual ~BodyStream() = default;
  BodyStream(const BodyStream&) = delete;
  BodyStream& operator=(const BodyStream&) = delete;

  struct Step {
    std::shared_ptr<const std::string> piece = {};  ///< null = none now; many streams may share it
    bool ended = false;                             ///< there will be none any more
  };
  /// What comes next. Where that is nothing yet, `wake` is called when it is time to ask again,
  /// at most once, from any thread and perhaps with a lock held: it must only post.
  virtual Step take_or_wake(std::function<void()> wake) = 0;
};

struct Response {
  int status = 200;
  std::string content_type = "application/json";
  std::string body;
  std::vector<Header> headers = {};         ///< further ones; length, type and connection are set
  BodyProducer producer = {};               ///< if set, the body comes from it and `body` is unused
  std::shared_ptr<BodyStream> stream = {};  ///< if set, the same; it is sent as it is, never gzip
  bool gzip = false;                        ///< worth compressing for a client that accepts it
  bool close = false;                       ///< end the connection after this response
};

/// 200 with JSON.
[[nodiscard]] Response json_response(std::string body);
/// A sentence for people; a line end is added.
[[nodiscard]] Response text_response(int status, std::string_view sentence);
/// 503 that asks the client to retry after this time.
[[nodiscard]] Response retry_response(std::chrono::seconds after, std::string_view sentence);

/// The obligation to answer one request. It can be moved to any thread and kept
/// for as long as the work takes, even beyond the life of the server: an answer
/// to a closed connection is dropped.
///
/// Destroyed unanswered it answers 500, so a client never waits for nothing.
/// Threads: one at a time.
class Responder {
 public:
  explicit Responder(std::function<void(Response)> reply);
  ~Responder();
  Responder(Responder&& other) noexcept;
  Responder& operator=(Responder&& other) noexcept;
  Responder(const Responder&) = delete;
  Responder& operator=(const Responder&) = delete;

  /// The first answer counts; the Responder is spent after it.
  void send(Response response);

 private:
  void answer_unanswered() noexcept;

  std::function<void(Response)> reply_;
};

/// Answers a request now or later.
///
/// Called on an io thread, from many at once: whatever waits or works for long
/// belongs on another thread, with the Responder. What it throws is logged and
/// answered with 500.
using Handler = std::function<void(Request request, Responder responder)>;

/// What is known of a request before its body is read.
struct Head {
  std::string_view method;
  std::string_view target;            ///< as sent: path and query, still encoded
  std::string_view host = {};         ///< the Host header, perhaps with a port; "" = none
  const TlsClient* client = nullptr;  ///< null = not authenticated
  bool local = false;                 ///< from this machine, or this pod
  bool has_body = false;              ///< of any length but 0
};

/// Says no to a request before its body is read: the answer, after which the connection ends, or
/// nothing to let it pass. Called on io threads, from many at once; must not wait.
using Gate = std::function<std::optional<Response>(const Head& head)>;

struct Options {
  std::string address = "0.0.0.0";  ///< an IP address of this machine; "::" is every one
  std::uint16_t port = 0;           ///< 0: any free one, see Server::port()
  std::size_t threads = 2;

  /// Larger bodies get 413. 32 MiB hold some 3,000 whole Node objects of 10 KiB,
  /// for a scheduler with nodeCacheCapable: false; names alone need a few hundred KiB.
  std::size_t max_body_bytes = std::size_t{32} << 20;
  /// Larger heads get 431. Go's and most servers' own limit is of this order.
  std::size_t max_header_bytes = std::size_t{16} << 10;
  /// Where there are more, one that waits for its client is cut to make room for a new one: see
  /// Connections. If all are being answered, the new one gets 503. Each holds at most
  /// max_header_bytes and some 100 KiB, TLS included.
  std::size_t max_connections = 1024;
  /// Connections that one origin may open each second in the long run, and at once after a pause;
  /// more are closed before a handshake. Not for origins of verified clients: see ConnectRate.
  /// 0 a second = any number.
  int connects_per_second = 0;
  int connects_burst = 0;
  /// Bodies of all connections together, of requests and of answers not yet taken; what does not
  /// fit gets 503. The first kUncountedBodyBytes of each connection are free. Each origin has its
  /// share, half of all at most (see BodyBudget); verified clients have all. Eight of the largest
  /// requests, and a tenth of what the service needs for a large cluster.
  std::size_t max_bodies_bytes = std::size_t{256} << 20;

  /// A connection without a request is closed after this. Go's client keeps idle
  /// connections for 90 s and does not repeat a POST on one the server just
  /// closed, so anything shorter makes bindings fail now and then.
  std::chrono::milliseconds idle_timeout{120'000};
  /// For a request from its first byte to its last, for writing a response, and
  /// for each piece of a streamed one. Not for the handler, which sets its own.
  std::chrono::milliseconds request_timeout{30'000};
  /// How long stop() waits for requests in flight.
  std::chrono::milliseconds drain_timeout{10'000};

  /// The certificates; null = plain HTTP.
  std::shared_ptr<tls::Identity> tls = {};
  /// From the connection's first byte to the end of the TLS handshake, which takes two round trips.
  std::chrono::milliseconds handshake_timeout{10'000};
  /// Empty = everything passes.
  Gate gate = {};
  /// By which new connections are counted and requests arrive; outlives the server. Null = the
  /// machine's.
  const Clock* clock = nullptr;
};

}  // namespace tangram::http
