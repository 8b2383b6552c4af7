// What a client may send on one connection: bytes as they come, in pieces of a size that the first
// byte chooses. Whatever it is, the connection ends, no request is larger than allowed, and every
// request that reached the handler was answered.

#include "http/session.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/beast/_experimental/test/stream.hpp>
#include <spdlog/spdlog.h>

#include <cstdint>
#include <cstdlib>
#include <string>

namespace {

using namespace tangram::http;
namespace memory = boost::beast::test;

/// Small, so that inputs reach them.
constexpr std::size_t kMaxBody = 2'000;
constexpr std::size_t kMaxHeader = 1'000;

void demand(bool condition) {
  if (!condition) std::abort();
}

/// Pieces that come after a wait each.
class News final : public tangram::http::BodyStream {
 public:
  explicit News(net::io_context& io) : io_(io) {}
  Step take_or_wake(std::function<void()> wake) override {
    if (left_ == 0) return {.piece = {}, .ended = true};
    waits_ = !waits_;
    if (waits_) {
      net::post(io_, std::move(wake));
      return {};
    }
    --left_;
    return {.piece = std::make_shared<const std::string>("piece")};
  }

 private:
  net::io_context& io_;
  int left_ = 3;
  bool waits_ = false;
};

/// "/news" in pieces as they come, "/stream" in pieces, "/later" from outside the handler,
/// "/forget" not at all, else an echo.
struct FuzzHandler {
  net::io_context& io;
  std::size_t& answered;

  void operator()(tangram::http::Request request, tangram::http::Responder responder) const {
    demand(request.body.size() <= kMaxBody);
    demand(request.path.size() <= kMaxHeader);
    ++answered;
    if (request.path == "/forget") return;
    if (request.path == "/news") {
      tangram::http::Response response;
      response.stream = std::make_shared<News>(io);
      return responder.send(std::move(response));
    }
    if (request.path == "/stream") {
      tangram::http::Response response;
      response.gzip = true;
      response.producer = [left = 3](std::string& out) mutable {
        out += "piece";
        return --left > 0;
      };
      return responder.send(std::move(response));
    }
    auto echo = tangram::http::text_response(200, request.method + request.path + request.body);
    if (request.path != "/later") return responder.send(std::move(echo));
    const auto kept =
        std::make_shared<std::pair<tangram::http::Responder, tangram::http::Response>>(
            std::move(responder), std::move(echo));
    net::post(io, [kept] { kept->first.send(std::move(kept->second)); });
  }
};

tangram::http::Options small_options() {
  tangram::http::Options options;
  options.max_body_bytes = kMaxBody;
  options.max_header_bytes = kMaxHeader;
  return options;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  net::io_context io;
  std::size_t answered = 0;
  tangram::http::SessionContext context(small_options(), FuzzHandler{io, answered});
  memory::stream stream(io);
  const memory::stream client = memory::connect(stream);
  stream.read_size(1U + data[0]);
  stream.append({reinterpret_cast<const char*>(data) + 1, size - 1});
  stream.close_remote();
  bool ended = false;
  const auto session =
      std::make_shared<tangram::http::Session<memory::stream>>(std::move(stream), context, false);
  net::co_spawn(io, session->run(), [&](const std::exception_ptr& thrown) {
    demand(thrown == nullptr);
    ended = true;
  });
  io.run();  // returns only if nothing is left waiting
  demand(ended);
  demand(context.requests == answered);
  demand(context.bodies.used() == 0);
  const auto output = client.str();
  std::size_t answers = 0;
  for (auto at = output.find("HTTP/1."); at != output.npos; at = output.find("HTTP/1.", at + 1)) {
    ++answers;
  }
  demand(answers >= answered);
  return 0;
}
