#include "tests/e2e/scripted_webhook.hpp"

#include "base/base64.hpp"
#include "tests/e2e/raw_json.hpp"
#include "tests/e2e/webhook.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>

#include <atomic>
#include <map>
#include <thread>

namespace tangram::e2e {

namespace {

namespace http = boost::beast::http;
namespace net = boost::asio;
using net::ip::tcp;
using Stream = net::ssl::stream<tcp::socket>;

constexpr std::size_t kHugeBytes = std::size_t{64} << 20;

std::string allow(const std::string& uid, const std::string& more = "") {
  return R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":")" +
         uid + R"(","allowed":true)" + more + "}}";
}

int status_of(Failure failure) {
  static const std::map<Failure, int> kStatuses{{Failure::k400, 400}, {Failure::k403, 403},
                                                {Failure::k413, 413}, {Failure::k429, 429},
                                                {Failure::k500, 500}, {Failure::k503, 503}};
  const auto found = kStatuses.find(failure);
  return found == kStatuses.end() ? 200 : found->second;
}

std::string body_of(Failure failure, const std::string& review) {
  const std::string uid = text_of(parse_json(review)["request"], "uid");
  if (failure == Failure::kEmpty) return "";
  if (failure == Failure::kGarbage) return "<html>not found</html>";
  if (failure == Failure::kHuge) return std::string(kHugeBytes, ' ') + "{";
  if (failure == Failure::kOtherUid) return allow("another");
  if (failure == Failure::kNoResponse) {
    return R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"})";
  }
  if (failure == Failure::kPatchesNonsense) {
    return allow(uid, R"(,"patchType":"JSONPatch","patch":")" +
                          base64_encode(R"([{"op":"remove","path":"/spec/none"}])") + "\"");
  }
  return allow(uid);
}

}  // namespace

struct ScriptedWebhook::Impl {
  explicit Impl(Failure first) : failure(first) {
    const auto& files = webhook_certificates();
    tls.use_certificate_chain_file((files / "tls.crt").string());
    tls.use_private_key_file((files / "tls.key").string(), net::ssl::context::pem);
    net::co_spawn(io, accept(), net::detached);
    thread = std::jthread([this] { io.run(); });
  }
  ~Impl() { io.stop(); }

  net::awaitable<void> accept() {
    while (true) {
      tcp::socket socket = co_await acceptor.async_accept(net::use_awaitable);
      // A client that goes away ends only its own connection.
      net::co_spawn(io, serve(std::move(socket)), [](const std::exception_ptr&) {});
    }
  }

  net::awaitable<void> serve(tcp::socket socket) {
    const Failure now = failure;
    if (now == Failure::kReset || now == Failure::kNoTls) {
      ++calls;
      if (now == Failure::kReset)
        socket.set_option(tcp::socket::linger(true, 0));
      else
        co_await net::async_write(socket, net::buffer("no TLS here", 11), net::use_awaitable);
      co_return;
    }
    Stream stream(std::move(socket), tls);
    co_await stream.async_handshake(net::ssl::stream_base::server, net::use_awaitable);
    boost::beast::flat_buffer buffer;
    http::request_parser<http::string_body> parser;
    parser.body_limit(boost::none);
    co_await http::async_read(stream, buffer, parser, net::use_awaitable);
    ++calls;
    co_await answer(stream, now, parser.get().body());
  }

  net::awaitable<void> answer(Stream& stream, Failure now, const std::string& review) {
    if (now == Failure::kSlow) co_await forever();
    http::response<http::string_body> response;
    response.result(static_cast<unsigned>(status_of(now)));
    response.set(http::field::content_type, "application/json");
    response.keep_alive(false);
    response.body() = body_of(now, review);
    response.prepare_payload();
    http::response_serializer<http::string_body> serializer(response);
    if (now == Failure::kStalls) {
      co_await http::async_write_header(stream, serializer, net::use_awaitable);
      co_await forever();
    }
    co_await http::async_write(stream, serializer, net::use_awaitable);
    co_await stream.async_shutdown(net::use_awaitable);
  }

  net::awaitable<void> forever() {
    net::steady_timer timer(io, net::steady_timer::time_point::max());
    co_await timer.async_wait(net::use_awaitable);
  }

  std::atomic<Failure> failure;
  std::atomic<int> calls = 0;
  net::io_context io;
  net::ssl::context tls{net::ssl::context::tls_server};
  tcp::acceptor acceptor{io, tcp::endpoint(net::ip::address_v4::loopback(), 0)};
  std::jthread thread;
};

ScriptedWebhook::ScriptedWebhook(Failure failure) : impl_(std::make_unique<Impl>(failure)) {}
ScriptedWebhook::~ScriptedWebhook() = default;
int ScriptedWebhook::port() const { return impl_->acceptor.local_endpoint().port(); }
void ScriptedWebhook::fail_by(Failure failure) { impl_->failure = failure; }
int ScriptedWebhook::calls() const { return impl_->calls; }

}  // namespace tangram::e2e
