#include "tests/e2e/attack.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <pthread.h>

#include <array>
#include <chrono>
#include <functional>
#include <string_view>
#include <thread>

namespace tangram::e2e {
namespace {

namespace net = boost::asio;
using boost::system::error_code;
using net::ip::tcp;
using namespace std::chrono_literals;
using TlsStream = net::ssl::stream<tcp::socket>;

/// Interval between new connections, of all clients together, also of those that reconnect.
constexpr auto kPace = 5ms;
/// Longest connection.
constexpr auto kLongest = 60s;
/// Limits of an oversized client: number of pieces, and bytes of a piece.
constexpr int kMostPieces = 64;
constexpr std::size_t kPiece = 16'384;

const std::string kHost = " HTTP/1.1\r\nHost: tangram\r\n";

}  // namespace

struct Attack::Impl {
  explicit Impl(std::uint16_t server) : endpoint(net::ip::address_v4::loopback(), server) {}

  net::awaitable<void> client(int number);
  net::awaitable<void> attack(int kind, tcp::socket& socket);
  net::awaitable<void> wait(std::chrono::milliseconds time);
  net::awaitable<void> my_turn();
  net::awaitable<bool> connect(tcp::socket& socket);
  net::awaitable<bool> shake_hands(TlsStream& stream);

  template <class Stream>
  net::awaitable<bool> send(Stream& stream, std::string_view bytes);
  template <class Stream>
  net::awaitable<void> read_to_end(Stream& stream);
  template <class Stream>
  net::awaitable<void> drip(Stream& stream, std::string_view bytes);
  template <class Stream>
  net::awaitable<void> flood(Stream& stream, std::string_view head);

  const tcp::endpoint endpoint;
  net::io_context io;
  net::ssl::context tls{net::ssl::context::tls_client};
  std::chrono::steady_clock::time_point next_turn = std::chrono::steady_clock::now();
  std::atomic<int> begun = 0;
  std::jthread thread;
};

net::awaitable<void> Attack::Impl::wait(std::chrono::milliseconds time) {
  net::steady_timer timer(io, time);
  error_code ignored;
  co_await timer.async_wait(net::redirect_error(net::use_awaitable, ignored));
}

net::awaitable<void> Attack::Impl::my_turn() {
  const auto now = std::chrono::steady_clock::now();
  next_turn = std::max(next_turn + kPace, now);
  co_await wait(std::chrono::duration_cast<std::chrono::milliseconds>(next_turn - now));
}

net::awaitable<bool> Attack::Impl::connect(tcp::socket& socket) {
  error_code error;
  socket.open(tcp::v4(), error);
  if (!error) socket.bind({net::ip::make_address(kAddress), 0}, error);
  if (error) co_return false;
  co_await socket.async_connect(endpoint, net::redirect_error(net::use_awaitable, error));
  co_return !error;
}

net::awaitable<bool> Attack::Impl::shake_hands(TlsStream& stream) {
  error_code error;
  co_await stream.async_handshake(net::ssl::stream_base::client,
                                  net::redirect_error(net::use_awaitable, error));
  co_return !error;
}

template <class Stream>
net::awaitable<bool> Attack::Impl::send(Stream& stream, std::string_view bytes) {
  error_code error;
  const auto buffer = net::buffer(bytes.data(), bytes.size());
  co_await net::async_write(stream, buffer, net::redirect_error(net::use_awaitable, error));
  co_return !error;
}

template <class Stream>
net::awaitable<void> Attack::Impl::read_to_end(Stream& stream) {
  std::array<char, 4096> bytes{};
  const auto buffer = net::buffer(bytes);
  error_code error;
  while (!error) {
    co_await stream.async_read_some(buffer, net::redirect_error(net::use_awaitable, error));
  }
}

/// Sends a byte a second, too slow to finish in time.
template <class Stream>
net::awaitable<void> Attack::Impl::drip(Stream& stream, std::string_view bytes) {
  bool taken = true;
  for (std::size_t i = 0; taken && i < bytes.size(); ++i) {
    taken = co_await send(stream, bytes.substr(i, 1));
    co_await wait(1s);
  }
}

/// Sends kMostPieces pieces at most.
template <class Stream>
net::awaitable<void> Attack::Impl::flood(Stream& stream, std::string_view head) {
  const std::string piece(kPiece, 'x');
  bool taken = co_await send(stream, head);
  for (int i = 0; taken && i < kMostPieces; ++i) taken = co_await send(stream, piece);
  co_await read_to_end(stream);
}

net::awaitable<void> Attack::Impl::attack(int kind, tcp::socket& socket) {
  const std::string hello("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11);
  if (kind < 6) co_return co_await read_to_end(socket);
  if (kind < 9) co_return co_await drip(socket, hello + std::string(40, 'x'));
  if (kind == 9) {
    co_await send(socket, std::string(600, static_cast<char>(begun % 256)));
    co_return co_await read_to_end(socket);
  }
  if (kind == 10) {
    co_await send(socket, hello + std::string(600, '\0'));
    co_return co_await read_to_end(socket);
  }
  if (kind == 11) {
    co_await send(socket, "GET /" + kHost + "\r\n");
    co_return co_await read_to_end(socket);
  }

  TlsStream stream(std::move(socket), tls);
  const bool shaken = co_await shake_hands(stream);
  if (!shaken) co_return;
  if (kind == 12) co_return co_await read_to_end(stream);
  if (kind < 15) {
    const std::string slow = "POST /filter" + kHost + "X-Slow: " + std::string(50, 'x');
    co_return co_await drip(stream, slow);
  }
  if (kind == 15) {
    const std::string head = "POST /filter" + kHost + "Content-Length: 99999999999\r\n\r\n";
    co_return co_await flood(stream, head);
  }
  if (kind == 16) {
    const std::string head = "GET /" + kHost + "X-Large: ";
    co_return co_await flood(stream, head);
  }
  if (kind == 17) {
    const std::string head =
        "POST /filter" + kHost + "Transfer-Encoding: chunked\r\n\r\nffffffff\r\n";
    co_return co_await flood(stream, head);
  }
  if (kind == 18) {
    std::string many;
    for (int i = 0; i < 100; ++i) many += "GET /" + std::to_string(i) + kHost + "\r\n";
    co_await send(stream, many + "\x01\x02 rubbish\r\n\r\n");
    co_return co_await read_to_end(stream);
  }
  co_await send(stream, "GET /api/v1/cluster" + kHost + "\r\n");
  co_await wait(kLongest);  // and does not read
}

net::awaitable<void> Attack::Impl::client(int number) {
  constexpr int kKinds = 20;
  for (int round = 0;; ++round) {
    co_await my_turn();
    tcp::socket socket(io);
    const bool connected = co_await connect(socket);
    if (!connected) continue;
    ++begun;
    // After kLongest, shuts the socket down, so pending operations end.
    const auto handle = socket.native_handle();
    net::steady_timer limit(io, kLongest);
    limit.async_wait([handle](const error_code& stopped) {
      if (!stopped) ::shutdown(handle, SHUT_RDWR);
    });
    co_await attack((number + round) % kKinds, socket);
    limit.cancel();
  }
}

Attack::Attack(std::uint16_t port) : impl_(std::make_unique<Impl>(port)) {
  for (int i = 0; i < kClients; ++i) net::co_spawn(impl_->io, impl_->client(i), net::detached);
  impl_->thread = std::jthread([this] { impl_->io.run(); });
}

Attack::~Attack() {
  impl_->io.stop();
  impl_->thread.join();
}

double Attack::cpu_seconds() const {
  clockid_t clock{};
  timespec spent{};
  if (::pthread_getcpuclockid(impl_->thread.native_handle(), &clock) != 0) return 0;
  if (::clock_gettime(clock, &spent) != 0) return 0;
  return static_cast<double>(spent.tv_sec) + static_cast<double>(spent.tv_nsec) * 1e-9;
}

int Attack::begun() const { return impl_->begun; }

}  // namespace tangram::e2e
