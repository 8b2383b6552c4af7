#include "http/server.hpp"

#include "http/connections.hpp"
#include "http/peer.hpp"
#include "http/session.hpp"
#include "http/tls/identity.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/strand.hpp>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <exception>
#include <limits>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace tangram::http {
namespace {

using boost::system::error_code;
using net::ip::tcp;
using PlainSession = Session<tcp::socket>;
using TlsSession = Session<net::ssl::stream<tcp::socket>>;

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

Peer peer_of(const tcp::socket& socket) {
  error_code error;
  const auto endpoint = socket.remote_endpoint(error);
  return error ? Peer() : peer_at(endpoint.address());
}

/// The first thing wrong with the options; "" if nothing is.
std::string find_fault(const Options& options) {
  if (options.threads == 0) return "threads is 0; give at least 1";
  if (options.max_connections == 0) return "max_connections is 0; give at least 1";
  if (options.max_body_bytes == 0) return "max_body_bytes is 0; give at least 1";
  if (options.max_header_bytes < 256 ||
      options.max_header_bytes > std::numeric_limits<std::uint16_t>::max()) {
    return "max_header_bytes must lie in 256..65535";
  }
  if (options.max_bodies_bytes / 2 < options.max_body_bytes) {
    return "max_bodies_bytes is below twice max_body_bytes: one source may hold half of it";
  }
  const auto shortest =
      std::min({options.idle_timeout, options.request_timeout, options.handshake_timeout});
  if (shortest.count() <= 0) {
    return "idle_timeout, request_timeout and handshake_timeout must be above 0";
  }
  if (options.connects_per_second < 0) return "connects_per_second must not be below 0";
  if (options.connects_per_second > 0 && options.connects_burst < 1) {
    return "connects_burst must be at least 1 where connects_per_second is given";
  }
  if (options.drain_timeout.count() < 0) return "drain_timeout must not be below 0";
  return {};
}

}  // namespace

struct Server::Impl {
  explicit Impl(Options options, Handler handler)
      : context(std::move(options), std::move(handler)),
        connections(context.options.max_connections),
        accepting(net::make_strand(io)),
        acceptor(accepting),
        backoff(accepting) {}
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
  void try_to_admit(tcp::socket socket);
  void admit(tcp::socket socket);
  void refuse(tcp::socket socket, const std::string& origin);
  template <class Session>
  void serve(const std::shared_ptr<Session>& session, Connections::Decision decision);
  void stop_accepting();
  void cut_all();

  SessionContext context;  // before `io`: coroutines that die with `io` refer to it
  Connections connections;
  std::atomic<std::uint64_t> accepted = 0;
  const std::string too_fast = "it opens more than " +
                               std::to_string(context.options.connects_per_second) +
                               " a second; docs/tls.md says under \"Under attack\" what to do";

  net::io_context io;
  net::executor_work_guard<net::io_context::executor_type> work{io.get_executor()};
  net::strand<net::io_context::executor_type> accepting;
  tcp::acceptor acceptor;     // on its strand only, once threads run
  net::steady_timer backoff;  // same
  std::uint16_t port = 0;
  std::vector<std::thread> threads;
  std::once_flag stopped;
};

error_code Server::Impl::listen(const tcp::endpoint& endpoint) {
  error_code error;
  acceptor.open(endpoint.protocol(), error);
  if (!error) acceptor.set_option(net::socket_base::reuse_address(true), error);
  if (!error) acceptor.bind(endpoint, error);
  if (!error) acceptor.listen(net::socket_base::max_listen_connections, error);
  if (!error) port = acceptor.local_endpoint(error).port();
  return error;
}

void Server::Impl::start() {
  net::co_spawn(accepting, accept_loop(), [](const std::exception_ptr& thrown) {
    log_exception("accepting connections was", thrown);
  });
  for (std::size_t i = 0; i < context.options.threads; ++i) {
    threads.emplace_back([this] { io.run(); });
  }
}

net::awaitable<void> Server::Impl::accept_loop() {
  auto wait = kFirstBackoff;
  while (!context.stopping) {
    error_code error;
    tcp::socket socket(net::make_strand(io));
    co_await acceptor.async_accept(socket, into(error));
    if (!error) {
      wait = kFirstBackoff;
      try_to_admit(std::move(socket));
    } else if (!context.stopping) {
      spdlog::warn("cannot accept a connection on port {}: {}; next try in {} ms", port,
                   error.message(), wait.count());
      backoff.expires_after(wait);
      co_await backoff.async_wait(into(error));
      wait = std::min(wait * 2, kLongestBackoff);
    }
  }
}

/// One connection that cannot be served, for want of memory for instance, must not be the last.
void Server::Impl::try_to_admit(tcp::socket socket) {
  try {
    admit(std::move(socket));
  } catch (...) {
    log_exception("taking a connection in was", std::current_exception());
  }
}

void Server::Impl::admit(tcp::socket socket) {
  ++accepted;
  Peer peer = peer_of(socket);
  if (!context.connect_rate.admit(peer.origin, context.now())) {
    return refuse(std::move(socket), peer.origin);
  }
  error_code ignored;
  socket.set_option(tcp::no_delay(true), ignored);  // a response is one write: nothing to collect
  const auto decision = connections.reserve(std::chrono::steady_clock::now());
  if (decision == Connections::Decision::kClose) return;
  const bool turn_away = decision == Connections::Decision::kReject;
  if (!context.options.tls) {
    return serve(
        std::make_shared<PlainSession>(std::move(socket), context, turn_away, std::move(peer)),
        decision);
  }
  peer.trust = context.options.tls->trust();  // before the context, so that a change is seen
  const auto identity = context.options.tls->context();
  net::ssl::stream<tcp::socket> stream(std::move(socket), *identity);
  serve(std::make_shared<TlsSession>(std::move(stream), context, turn_away, std::move(peer)),
        decision);
}

/// At once and by a reset, so that the kernel keeps nothing of it: an end in good order would leave
/// a minute of TIME_WAIT for each.
void Server::Impl::refuse(tcp::socket socket, const std::string& origin) {
  error_code ignored;
  socket.set_option(net::socket_base::linger(true, 0), ignored);
  socket.close(ignored);
  context.connect_log.report(origin, too_fast);
}

template <class Session>
void Server::Impl::serve(const std::shared_ptr<Session>& session, Connections::Decision decision) {
  if (!connections.add(session, decision)) return;
  net::co_spawn(session->executor(), session->run(),
                [this, session](const std::exception_ptr& thrown) {
                  log_exception("a connection was", thrown);
                  connections.remove(session);
                });
}

void Server::Impl::stop_accepting() {
  net::post(accepting, [this] {
    error_code ignored;
    acceptor.close(ignored);
    backoff.cancel();
  });
  connections.close();
}

void Server::Impl::cut_all() {
  const std::size_t left = connections.cut_all();
  spdlog::warn("{} connections did not end within the drain timeout of {} ms and were cut", left,
               context.options.drain_timeout.count());
}

void Server::Impl::stop() {
  std::call_once(stopped, [this] {
    context.stopping = true;
    stop_accepting();
    if (!threads.empty() && !connections.all_ended_within(context.options.drain_timeout)) cut_all();
    work.reset();
    for (auto& thread : threads) thread.join();
  });
}

Result<std::unique_ptr<Server>> Server::create(Options options, Handler handler) {
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
  return std::unique_ptr<Server>(new Server(std::move(impl)));
}

Server::Server(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Server::~Server() = default;

std::uint16_t Server::port() const { return impl_->port; }

Counters Server::counters() const {
  const auto connections = impl_->connections.counts();
  return {.open = connections.open,
          .accepted = impl_->accepted,
          .rejected = connections.turned_away,
          .evicted = connections.evicted,
          .too_fast = impl_->context.connect_rate.refused(),
          .handshakes_failed = impl_->context.handshakes_failed,
          .bodies_refused = impl_->context.bodies_refused,
          .requests = impl_->context.requests};
}

void Server::stop() { impl_->stop(); }

}  // namespace tangram::http
