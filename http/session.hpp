#pragma once

#include "http/connections.hpp"
#include "http/peer.hpp"
#include "http/protocol.hpp"
#include "http/reply_box.hpp"
#include "http/session_context.hpp"
#include "http/stream.hpp"
#include "http/types.hpp"
#include "http/writer.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/write.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

/// One connection. Internal: only the server and its tests include this heavy header.
namespace tangram::http {

/// Serves the requests of one connection, one after the other.
///
///     (TLS handshake) --> idle --first byte--> reading --> answering --> writing --> idle ...
///           |               |                    |            |             |
///           +------ a timeout, broken, refused, cut, last response ---> linger --> closed
///
/// Everything runs on the stream's executor, which must be a strand (or one
/// thread); drain() and cut() may be called from any thread.
/// `Stream` is any asynchronous stream of Asio: a socket, TLS over one, a test's.
template <class Stream>
class Session final : public Connection, public std::enable_shared_from_this<Session<Stream>> {
 public:
  /// @param turn_away  answer the first request with 503, whatever it is
  Session(Stream stream, SessionContext& context, bool turn_away, Peer peer = {})
      : Connection(std::move(peer.origin)),
        address_(std::move(peer.address)),
        stream_(std::move(stream)),
        context_(context),
        turn_away_(turn_away),
        local_(peer.local),
        trust_(peer.trust),
        buffer_(buffer_limit(context.options)),
        deadline_(stream_.get_executor()),
        bell_(stream_.get_executor(), std::chrono::steady_clock::time_point::max()) {}

  [[nodiscard]] net::any_io_executor executor() { return stream_.get_executor(); }

  /// The life of the connection; to be spawned on the stream's executor.
  net::awaitable<void> run() {
    const auto self = this->shared_from_this();
    const bool accepted = co_await accept_client();
    bool goes_on = accepted;
    while (goes_on) {
      goes_on = co_await request_begins();
      if (goes_on) goes_on = co_await exchange();
    }
    if (accepted) co_await linger();
    no_deadline();
    close_stream(stream_);
  }

  void drain() override {
    net::post(stream_.get_executor(), [self = this->shared_from_this()] {
      if (self->idle_) shutdown_stream(self->stream_, net::socket_base::shutdown_receive);
      self->bell_.cancel();  // a waiting stream gets nothing more
    });
  }

  void cut() override {
    net::post(stream_.get_executor(), [self = this->shared_from_this()] {
      self->cut_ = true;
      self->bell_.cancel();
      close_stream(self->stream_);
    });
  }

 private:
  using Parser = beast_http::request_parser<CountedBody>;
  using Head = beast_http::response<beast_http::empty_body>;

  // Operands of co_await that own memory have names: GCC 12 destroys some temporaries twice.

  // The verbs of run(), in their order. Each returns false if the connection is to end.

  net::awaitable<bool> accept_client() {
    if (!kIsTls<Stream>) co_return true;
    idle_ = true;  // a drain need not wait for it
    give_up_after(context_.options.handshake_timeout);
    if (context_.stopping) shutdown_stream(stream_, net::socket_base::shutdown_receive);
    const boost::system::error_code error = co_await handshake(stream_);
    idle_ = false;
    if (error) {
      context_.handshakes_failed.fetch_add(1, std::memory_order_relaxed);
      const std::string why = handshake_failure(stream_, error);
      context_.handshake_log.report(this->origin(), why);
      co_return false;
    }
    client_ = client_of(stream_);
    if (client_) {
      this->set_trust(Trust::kVerified);
      context_.connect_rate.vouch_for(this->origin(), context_.now());
    }
    co_return true;
  }

  /// Waits for the first byte, to distinguish an idle connection from a slow request.
  net::awaitable<bool> request_begins() {
    if (buffer_.size() > 0) co_return true;  // pipelined
    idle_ = true;
    // A connection that is turned away holds one of few places: it may not idle.
    const Options& options = context_.options;
    give_up_after(turn_away_ ? options.request_timeout : options.idle_timeout);
    if (context_.stopping) shutdown_stream(stream_, net::socket_base::shutdown_receive);
    boost::system::error_code error;
    const auto space = buffer_.prepare(kReadBytes);
    const std::size_t count = co_await stream_.async_read_some(space, into(error));
    buffer_.commit(count);
    idle_ = false;
    co_return !error;
  }

  net::awaitable<bool> exchange() {
    renew();
    const TimePoint arrived = context_.now();
    Parser parser;
    parser.get().body().share =
        BodyShare(context_.bodies, {.origin = this->origin(), .verified = client_ != nullptr});
    parser.header_limit(static_cast<std::uint32_t>(context_.options.max_header_bytes));
    parser.body_limit(context_.options.max_body_bytes);
    boost::system::error_code error;
    co_await beast_http::async_read_header(stream_, buffer_, parser, into(error));
    if (!error) {
      look_at_client();
      auto no = turn_away_ ? too_many_connections() : ask_gate(parser.get());
      if (no) co_return co_await refuse(std::move(*no));
      error = co_await receive_body(parser);
    }
    if (error) {
      auto answer_to_error = explain(error);
      if (!answer_to_error) co_return false;
      parser.get().body() = {};  // what has come of it makes room first
      co_return co_await refuse(std::move(*answer_to_error));
    }
    auto message = parser.release();
    co_return co_await answer(std::move(message), arrived);
  }

  net::awaitable<bool> answer(Message message, TimePoint arrived) {
    const ReplyForm form = reply_form(message);
    BodyShare share = std::move(message.body().share);
    auto request = decode_request(std::move(message));
    if (!request) {
      auto refused = text_response(400, "bad request: " + request.error().message);
      co_return co_await refuse(std::move(refused));
    }
    request->client = client_;
    request->origin = this->origin();
    request->address = address_;
    request->arrived = arrived;
    auto response = co_await ask_handler(std::move(*request));
    if (!response) co_return false;
    if (!share.grow(response->body.size())) {
      context_.bodies_refused.fetch_add(1, std::memory_order_relaxed);
      response = too_many_bodies();
    }
    const bool goes_on = co_await respond(std::move(*response), form, std::move(share));
    if (goes_on && !client_) this->set_trust(Trust::kServed);
    co_return goes_on;
  }

  /// @param share  what the request and the response take of the memory for bodies, until it is out
  net::awaitable<bool> respond(Response response, ReplyForm form, BodyShare share) {
    const BodyShare held = std::move(share);
    renew();
    if (response.close || last_ || context_.stopping) form.keep_alive = false;
    Writer<Session, Stream> writer(*this, stream_);
    const bool open = co_await writer.write(std::move(response), form);
    co_return open;
  }

  /// So that the last response arrives: a socket that is closed with unread data resets the
  /// connection. What comes is not looked at any more, not even decrypted.
  net::awaitable<void> linger() {
    const bool unread = unread_ || buffer_.size() > 0;
    if (!unread && !kIsTls<Stream>) co_return;
    idle_ = true;  // a drain need not wait for it
    give_up_after(std::min(kLingerTime, context_.options.request_timeout));
    if (context_.stopping) shutdown_stream(stream_, net::socket_base::shutdown_receive);
    co_await close_tls(stream_);
    if (!unread) co_return;
    shutdown_stream(stream_, net::socket_base::shutdown_send);
    boost::system::error_code error;
    while (!error) {
      buffer_.clear();
      const auto space = buffer_.prepare(kReadBytes);
      co_await boost::beast::get_lowest_layer(stream_).async_read_some(space, into(error));
    }
  }

  // What they do.

  /// A certificate is verified again when it expires and when the client authorities have changed:
  /// a connection may live for ever.
  void look_at_client() {
    if (!client_ || !context_.options.tls) return;
    tls::Identity& identity = *context_.options.tls;
    const tls::Identity::Trust trust = identity.trust();
    const bool expired = std::chrono::system_clock::now() >= client_->expires;
    if (trust == trust_ && !expired) return;
    trust_ = trust;
    if (!expired && is_vouched_for(stream_, identity)) return;
    client_ = nullptr;
    last_ = true;  // a new connection may show a new certificate
    this->set_trust(Trust::kServed);
  }

  net::awaitable<boost::system::error_code> receive_body(Parser& parser) {
    boost::system::error_code error;
    if (parser.is_done()) co_return error;
    if (wants_continue(parser.get())) {
      Head go_on{beast_http::status::continue_, parser.get().version()};
      co_await beast_http::async_write(stream_, go_on, into(error));
      if (error) co_return error;
    }
    co_await beast_http::async_read(stream_, buffer_, parser, into(error));
    co_return error;
  }

  /// Nothing = the connection broke, so no answer can be sent.
  std::optional<Response> explain(const boost::system::error_code& error) {
    if (error == no_room_for_body()) {
      context_.bodies_refused.fetch_add(1, std::memory_order_relaxed);
    }
    return refusal(error, context_.options);
  }

  /// Nothing = the request may pass.
  std::optional<Response> ask_gate(const Message& head) const {
    if (!context_.options.gate) return std::nullopt;
    return context_.options.gate({.method = head.method_string(),
                                  .target = head.target(),
                                  .host = head[beast_http::field::host],
                                  .client = client_.get(),
                                  .local = local_,
                                  .has_body = has_body(head)});
  }

  static bool has_body(const Message& head) {
    const auto length = head[beast_http::field::content_length];
    return head.chunked() || (!length.empty() && length != "0");
  }

  /// The last response on a connection whose input is not read to its end.
  net::awaitable<bool> refuse(Response response) {
    unread_ = true;
    const ReplyForm last;
    BodyShare nothing;
    co_return co_await respond(std::move(response), last, std::move(nothing));
  }

  /// @returns nothing if the connection was cut first.
  net::awaitable<std::optional<Response>> ask_handler(Request request) {
    no_deadline();  // the handler has its own
    const auto box = std::make_shared<ReplyBox>();
    const ReplyBox::Closing closing(*box);
    context_.requests.fetch_add(1, std::memory_order_relaxed);
    call_handler(context_.handler, std::move(request),
                 Responder([box](Response response) { box->put(std::move(response)); }));

    auto response = box->take_or_wake(wake());
    while (!response && !cut_) {
      boost::system::error_code ignored;
      co_await bell_.async_wait(into(ignored));
      response = box->take_or_wake(wake());
    }
    co_return response;
  }

  /// Closes the connection unless another deadline, or none, is set in time.
  void give_up_after(std::chrono::milliseconds time) {
    this->waits_from(std::chrono::steady_clock::now());
    deadline_.expires_after(time);
    deadline_.async_wait([weak = this->weak_from_this()](const boost::system::error_code& error) {
      const auto self = weak.lock();
      // The wait may have ended just before it was moved: then the expiry lies ahead.
      if (error || !self || self->deadline_.expiry() > std::chrono::steady_clock::now()) return;
      close_stream(self->stream_);
    });
  }

  void no_deadline() {
    this->waits_from(Connection::Instant::max());
    deadline_.expires_at(Connection::Instant::max());
  }

  /// The parser counts the header within the buffer, so the buffer must not be the tighter limit.
  static std::size_t buffer_limit(const Options& options) {
    return options.max_header_bytes + 2 * kReadBytes;
  }

  // For the writer, too.

  friend class Writer<Session, Stream>;
  /// Rings the bell, from any thread.
  [[nodiscard]] std::function<void()> wake() {
    return [weak = this->weak_from_this()] {
      const auto self = weak.lock();
      if (self) net::post(self->stream_.get_executor(), [self] { self->bell_.cancel(); });
    };
  }

  [[nodiscard]] bool over() const { return cut_ || context_.stopping; }
  void renew() { give_up_after(context_.options.request_timeout); }

  const std::string address_;
  Stream stream_;
  SessionContext& context_;
  const bool turn_away_;
  const bool local_;
  tls::Identity::Trust trust_;               // in which client_ was verified
  std::shared_ptr<const TlsClient> client_;  // null = not authenticated
  boost::beast::flat_buffer buffer_;
  net::steady_timer deadline_;
  net::steady_timer bell_;  // never expires; cancelled to say "look again"
  bool idle_ = false;       // nothing of a request has arrived
  bool unread_ = false;     // the client may be sending what will not be read
  bool last_ = false;       // the answer in the making is the last
  bool cut_ = false;
};

}  // namespace tangram::http
