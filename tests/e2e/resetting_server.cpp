#include "tests/e2e/resetting_server.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <thread>

namespace tangram::e2e {

namespace net = boost::asio;
using net::ip::tcp;

struct ResettingServer::Impl {
  net::awaitable<void> serve() {
    boost::system::error_code error;
    for (;;) {
      tcp::socket client =
          co_await acceptor.async_accept(net::redirect_error(net::use_awaitable, error));
      if (!error) client.set_option(net::socket_base::linger(true, 0), error);
    }
  }

  net::io_context io;
  tcp::acceptor acceptor{io, {net::ip::address_v4::loopback(), 0}};
  const std::uint16_t port = acceptor.local_endpoint().port();
  std::jthread thread;
};

ResettingServer::ResettingServer() : impl_(std::make_unique<Impl>()) {
  net::co_spawn(impl_->io, impl_->serve(), net::detached);
  impl_->thread = std::jthread([this] { impl_->io.run(); });
}

ResettingServer::~ResettingServer() {
  impl_->io.stop();
  impl_->thread.join();
}

std::uint16_t ResettingServer::port() const { return impl_->port; }

}  // namespace tangram::e2e
