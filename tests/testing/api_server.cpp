#include "tests/testing/api_server.hpp"

#include "tests/testing/api_connection.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>

#include <algorithm>
#include <array>
#include <list>
#include <mutex>
#include <thread>
#include <utility>

namespace tangram::testing {

namespace {

namespace net = boost::asio;
using boost::system::error_code;
using net::ip::tcp;
using TlsContext = std::unique_ptr<net::ssl::context>;

Result<TlsContext> make_tls(const ApiServer::Tls& texts) {
  auto tls = std::make_unique<net::ssl::context>(net::ssl::context::tls_server);
  error_code error;
  tls->use_certificate_chain(net::buffer(texts.certificate), error);
  if (error) return fail(Errc::kInvalidArgument, "server certificate: " + error.message());
  tls->use_private_key(net::buffer(texts.key), net::ssl::context::pem, error);
  if (error) return fail(Errc::kInvalidArgument, "server key: " + error.message());
  if (texts.client_ca.empty()) return tls;
  tls->add_certificate_authority(net::buffer(texts.client_ca), error);
  if (error) return fail(Errc::kInvalidArgument, "client authority: " + error.message());
  // Without a name for its sessions OpenSSL refuses to resume one that came with a certificate.
  constexpr std::array<unsigned char, 3> kSessions{'a', 'p', 'i'};
  SSL_CTX_set_session_id_context(tls->native_handle(), kSessions.data(), kSessions.size());
  tls->set_verify_mode(net::ssl::verify_peer | net::ssl::verify_fail_if_no_peer_cert);
  return tls;
}

error_code bind_to(tcp::acceptor& acceptor, std::uint16_t port) {
  error_code error;
  const tcp::endpoint here(net::ip::address_v4::loopback(), port);
  acceptor.open(here.protocol(), error);
  if (!error) acceptor.set_option(tcp::acceptor::reuse_address(true), error);
  if (!error) acceptor.bind(here, error);
  return error;
}

}  // namespace

struct ApiServer::Impl {
  Impl(kube::KubeApi& server, TlsContext context, std::string bearer)
      : api(server), tls(std::move(context)), token(std::move(bearer)) {}

  Result<void> listen();
  void stop_listening();
  void accept_all();
  void take(tcp::socket socket);
  template <class Which>
  void cut(const Which& which);
  template <class Which>
  std::size_t count(const Which& which) const;

  struct Running {
    explicit Running(std::unique_ptr<ApiConnection> what)
        : connection(std::move(what)), thread([this] { connection->run(); }) {}
    std::unique_ptr<ApiConnection> connection;
    std::jthread thread;
  };

  kube::KubeApi& api;
  const TlsContext tls;
  net::io_context io;
  // Bound but not listening: reserves the port while the server is down.
  tcp::acceptor reserved{io};
  std::uint16_t port = 0;

  std::mutex switching;  // one pause, resume or stop at a time
  tcp::acceptor acceptor{io};
  std::jthread acceptance;

  mutable std::mutex mutex;
  std::string token;
  std::list<std::unique_ptr<Running>> running;
};

Result<void> ApiServer::Impl::listen() {
  error_code error = bind_to(acceptor, port);
  if (!error) acceptor.listen(net::socket_base::max_listen_connections, error);
  if (error) {
    acceptor.close();
    return fail(Errc::kUnavailable,
                "cannot listen on port " + std::to_string(port) + ": " + error.message());
  }
  acceptance = std::jthread([this] { accept_all(); });
  return {};
}

void ApiServer::Impl::stop_listening() {
  if (!acceptor.is_open()) return;
  ::shutdown(acceptor.native_handle(), SHUT_RDWR);  // ends accept(), which close() does not
  acceptance.join();
  acceptor.close();
}

void ApiServer::Impl::accept_all() {
  for (;;) {
    error_code error;
    tcp::socket socket(io);
    acceptor.accept(socket, error);
    if (error == net::error::connection_aborted) continue;
    if (error) return;
    socket.set_option(tcp::no_delay(true), error);
    take(std::move(socket));
  }
}

void ApiServer::Impl::take(tcp::socket socket) {
  const ApiConnection::Context context{.api = api, .tls = tls.get(), .token = [this] {
                                         const std::scoped_lock lock(mutex);
                                         return token;
                                       }};
  const std::scoped_lock lock(mutex);
  running.remove_if([](const auto& one) { return one->connection->is_over(); });
  running.push_back(
      std::make_unique<Running>(std::make_unique<ApiConnection>(std::move(socket), context)));
}

template <class Which>
void ApiServer::Impl::cut(const Which& which) {
  const std::scoped_lock lock(mutex);
  for (const auto& one : running) {
    if (which(*one->connection)) one->connection->cut();
  }
}

template <class Which>
std::size_t ApiServer::Impl::count(const Which& which) const {
  const std::scoped_lock lock(mutex);
  return static_cast<std::size_t>(std::count_if(
      running.begin(), running.end(),
      [&](const auto& one) { return !one->connection->is_over() && which(*one->connection); }));
}

ApiServer::ApiServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ApiServer::~ApiServer() { stop(); }

Result<std::unique_ptr<ApiServer>> ApiServer::start(kube::KubeApi& api, Options options) {
  TlsContext tls;
  if (options.tls) {
    auto made = make_tls(*options.tls);
    if (!made) return made.error();
    tls = std::move(*made);
  }
  auto impl = std::make_unique<Impl>(api, std::move(tls), std::move(options.bearer_token));
  if (const error_code error = bind_to(impl->reserved, options.port)) {
    return fail(Errc::kUnavailable,
                "cannot have port " + std::to_string(options.port) + ": " + error.message());
  }
  impl->port = impl->reserved.local_endpoint().port();
  if (auto listening = impl->listen(); !listening) return listening.error();
  return std::unique_ptr<ApiServer>(new ApiServer(std::move(impl)));
}

std::uint16_t ApiServer::port() const { return impl_->port; }

std::string ApiServer::url() const {
  return (impl_->tls ? "https://127.0.0.1:" : "http://127.0.0.1:") + std::to_string(impl_->port);
}

void ApiServer::require_token(std::string token) {
  const std::scoped_lock lock(impl_->mutex);
  impl_->token = std::move(token);
}

void ApiServer::drop_connections() {
  impl_->cut([](const ApiConnection&) { return true; });
}

void ApiServer::cut_watches() {
  impl_->cut([](const ApiConnection& one) { return one.is_watching(); });
}

void ApiServer::pause() {
  const std::scoped_lock lock(impl_->switching);
  impl_->stop_listening();
  drop_connections();
}

Result<void> ApiServer::resume() {
  const std::scoped_lock lock(impl_->switching);
  if (impl_->acceptor.is_open()) return {};
  return impl_->listen();
}

void ApiServer::stop() {
  pause();
  std::list<std::unique_ptr<Impl::Running>> ending;
  {
    const std::scoped_lock lock(impl_->mutex);
    ending.swap(impl_->running);
  }
  // Their threads are joined here, without the lock: what they still do may need it.
}

std::size_t ApiServer::connections() const {
  return impl_->count([](const ApiConnection&) { return true; });
}

std::size_t ApiServer::watches() const {
  return impl_->count([](const ApiConnection& one) { return one.is_watching(); });
}

}  // namespace tangram::testing
