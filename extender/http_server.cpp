#include "extender/http_server.hpp"

#include "extender/http_session.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/strand.hpp>
#include <spdlog/spdlog.h>

#include <condition_variable>
#include <exception>
#include <limits>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace tangram::extender {
namespace {

using boost::system::error_code;
using net::ip::tcp;
using Session = HttpSession<tcp::socket>;

/// Connections above the limit that may be told so at one time; further ones are
/// closed without a word. Small: each costs a buffer, and the limit is there to bound memory.
constexpr std::size_t kMaxTurnedAway = 64;

/// Waits after a failed accept. Out of descriptors, accept fails at once and for
/// as long as connections stay open: without a wait the loop would take a whole core.
constexpr std::chrono::milliseconds kFirstBackoff{10};
constexpr std::chrono::milliseconds kLongestBackoff{1'000};

void log_exception(std::string_view where, const std::exception_ptr& thrown) {
  if (!thrown) return;
  try {
    std::rethrow_exception(thrown);
  } catch (const std::exception& error) {
    spdlog::error("{} ended by an exception: {}", where, error.what());
  } catch (...) {
    spdlog::error("{} ended by an unknown exception", where);
  }
}

/// The first thing wrong with the options; "" if nothing is.
std::string find_fault(const HttpOptions& options) {
  if (options.threads == 0) return "threads is 0; give at least 1";
  if (options.max_connections == 0) return "max_connections is 0; give at least 1";
  if (options.max_body_bytes == 0) return "max_body_bytes is 0; give at least 1";
  if (options.max_header_bytes < 256 ||
      options.max_header_bytes > std::numeric_limits<std::uint16_t>::max()) {
    return "max_header_bytes must lie in 256..65535";
  }
  const auto shortest = std::min(options.idle_timeout, options.request_timeout);
  if (shortest.count() <= 0) return "idle_timeout and request_timeout must be above 0";
  if (options.drain_timeout.count() < 0) return "drain_timeout must not be below 0";
  return {};
}

}  // namespace

struct HttpServer::Impl {
  explicit Impl(HttpOptions options, HttpHandler handler)
      : accepting(net::make_strand(io)), acceptor(accepting), backoff(accepting) {
    context.options = std::move(options);
    context.handler = std::move(handler);
  }
  ~Impl() {
    try {
      stop();
    } catch (...) {
      std::terminate();  // threads that could not be joined would go on with what dies here
    }
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  error_code listen(const tcp::endpoint& endpoint);
  void start();
  void stop();

  net::awaitable<void> accept_loop();
  void admit(tcp::socket socket);
  void serve(const std::shared_ptr<Session>& session, bool turn_away);
  void forget(const std::shared_ptr<Session>& session, bool turn_away);
  void stop_accepting();
  bool all_ended_within(std::chrono::milliseconds time);
  void cut_all();

  HttpSessionContext context;  // before `io`: coroutines that die with `io` refer to it
  std::atomic<std::uint64_t> accepted = 0;
  std::atomic<std::uint64_t> rejected = 0;

  std::mutex mutex;  // guards the three below
  std::condition_variable session_ended;
  std::set<std::shared_ptr<Session>> sessions;
  std::size_t turned_away = 0;  // of sessions, those that answer 503

  net::io_context io;
  net::executor_work_guard<net::io_context::executor_type> work{io.get_executor()};
  net::strand<net::io_context::executor_type> accepting;
  tcp::acceptor acceptor;     // on its strand only, once threads run
  net::steady_timer backoff;  // same
  std::uint16_t port = 0;
  std::vector<std::thread> threads;
  std::once_flag stopped;
};

error_code HttpServer::Impl::listen(const tcp::endpoint& endpoint) {
  error_code error;
  acceptor.open(endpoint.protocol(), error);
  if (!error) acceptor.set_option(net::socket_base::reuse_address(true), error);
  if (!error) acceptor.bind(endpoint, error);
  if (!error) acceptor.listen(net::socket_base::max_listen_connections, error);
  if (!error) port = acceptor.local_endpoint(error).port();
  return error;
}

void HttpServer::Impl::start() {
  net::co_spawn(accepting, accept_loop(), [](const std::exception_ptr& thrown) {
    log_exception("accepting connections was", thrown);
  });
  for (std::size_t i = 0; i < context.options.threads; ++i) {
    threads.emplace_back([this] { io.run(); });
  }
}

net::awaitable<void> HttpServer::Impl::accept_loop() {
  auto wait = kFirstBackoff;
  while (!context.stopping) {
    error_code error;
    tcp::socket socket(net::make_strand(io));
    co_await acceptor.async_accept(socket, net::redirect_error(net::use_awaitable, error));
    if (!error) {
      wait = kFirstBackoff;
      admit(std::move(socket));
    } else if (!context.stopping) {
      spdlog::warn("cannot accept a connection on port {}: {}; next try in {} ms", port,
                   error.message(), wait.count());
      backoff.expires_after(wait);
      co_await backoff.async_wait(net::redirect_error(net::use_awaitable, error));
      wait = std::min(wait * 2, kLongestBackoff);
    }
  }
}

void HttpServer::Impl::admit(tcp::socket socket) {
  error_code ignored;
  socket.set_option(tcp::no_delay(true), ignored);  // a response is one write: nothing to collect
  ++accepted;
  const std::unique_lock lock(mutex);
  const bool turn_away = sessions.size() - turned_away >= context.options.max_connections;
  if (turn_away) ++rejected;
  const bool drop = context.stopping || (turn_away && turned_away >= kMaxTurnedAway);
  if (drop) return;
  const auto session = std::make_shared<Session>(std::move(socket), context, turn_away);
  sessions.insert(session);
  if (turn_away) ++turned_away;
  serve(session, turn_away);
}

void HttpServer::Impl::serve(const std::shared_ptr<Session>& session, bool turn_away) {
  net::co_spawn(session->executor(), session->run(),
                [this, session, turn_away](const std::exception_ptr& thrown) {
                  log_exception("a connection was", thrown);
                  forget(session, turn_away);
                });
}

void HttpServer::Impl::forget(const std::shared_ptr<Session>& session, bool turn_away) {
  const std::scoped_lock lock(mutex);
  sessions.erase(session);
  if (turn_away) --turned_away;
  session_ended.notify_all();
}

void HttpServer::Impl::stop_accepting() {
  net::post(accepting, [this] {
    error_code ignored;
    acceptor.close(ignored);
    backoff.cancel();
  });
  const std::scoped_lock lock(mutex);
  for (const auto& session : sessions) session->drain();
}

bool HttpServer::Impl::all_ended_within(std::chrono::milliseconds time) {
  std::unique_lock lock(mutex);
  return session_ended.wait_for(lock, time, [this] { return sessions.empty(); });
}

void HttpServer::Impl::cut_all() {
  std::unique_lock lock(mutex);
  spdlog::warn("{} connections did not end within the drain timeout of {} ms and are cut",
               sessions.size(), context.options.drain_timeout.count());
  for (const auto& session : sessions) session->cut();
  session_ended.wait(lock, [this] { return sessions.empty(); });
}

void HttpServer::Impl::stop() {
  std::call_once(stopped, [this] {
    context.stopping = true;
    stop_accepting();
    if (!threads.empty() && !all_ended_within(context.options.drain_timeout)) cut_all();
    work.reset();
    for (auto& thread : threads) thread.join();
  });
}

Result<std::unique_ptr<HttpServer>> HttpServer::create(HttpOptions options, HttpHandler handler) {
  if (auto fault = find_fault(options); !fault.empty()) {
    return fail(Errc::kInvalidArgument, std::move(fault));
  }
  error_code error;
  const auto address = net::ip::make_address(options.address, error);
  if (error) {
    return fail(Errc::kInvalidArgument, "\"" + options.address +
                                            "\" is not an IP address; write one such as "
                                            "0.0.0.0, 127.0.0.1 or ::");
  }
  const tcp::endpoint endpoint(address, options.port);
  auto impl = std::make_unique<Impl>(std::move(options), std::move(handler));
  error = impl->listen(endpoint);
  if (error) {
    return fail(Errc::kUnavailable, "cannot listen on " + address.to_string() + " port " +
                                        std::to_string(endpoint.port()) + ": " + error.message());
  }
  impl->start();
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(impl)));
}

HttpServer::HttpServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
HttpServer::~HttpServer() = default;

std::uint16_t HttpServer::port() const { return impl_->port; }

HttpCounters HttpServer::counters() const {
  HttpCounters counters;
  {
    const std::scoped_lock lock(impl_->mutex);
    counters.open = impl_->sessions.size() - impl_->turned_away;
  }
  counters.accepted = impl_->accepted;
  counters.rejected = impl_->rejected;
  counters.requests = impl_->context.requests;
  return counters;
}

void HttpServer::stop() { impl_->stop(); }

}  // namespace tangram::extender
