#include "http/session.hpp"

#include "tests/http/fixture.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/beast/_experimental/test/stream.hpp>
#include <gtest/gtest.h>

#include <optional>
#include <vector>

// The session on a stream in memory, which fails at its n-th operation: for every n.
namespace tangram::http {
namespace {

namespace memory = boost::beast::test;

struct ScriptCase {
  std::string name;
  std::string input;               // all the client sends; then it ends its side
  std::vector<std::string> wants;  // stand in the output, in this order, if nothing fails
  std::size_t read_max = 100'000;  // bytes per read

  friend void PrintTo(const ScriptCase& c, std::ostream* out) { *out << c.name; }
};

/// Two pieces, the second one only after a wait.
class News final : public BodyStream {
 public:
  explicit News(net::io_context& io) : io_(io) {}
  Step take_or_wake(std::function<void()> wake) override {
    if (told_ == 2) return {.piece = {}, .ended = true};
    if (told_ == 1 && !waited_) {
      waited_ = true;
      net::post(io_, std::move(wake));
      return {};
    }
    return {.piece = std::make_shared<const std::string>("news" + std::to_string(told_++))};
  }

 private:
  net::io_context& io_;
  int told_ = 0;
  bool waited_ = false;
};

/// Answers by path: "/stream" in pieces, "/news" as they come, "/later" from outside the handler,
/// else as echo.
struct Answers {
  net::io_context& io;

  void operator()(Request request, Responder responder) const {
    if (request.path == "/stream") {
      Response response;
      response.gzip = request.query.count("gzip") > 0;
      response.producer = [i = 0](std::string& out) mutable {
        out += "piece" + std::to_string(i);
        return ++i < 3;
      };
      return responder.send(std::move(response));
    }
    if (request.path == "/news") {
      Response response;
      response.stream = std::make_shared<News>(io);
      return responder.send(std::move(response));
    }
    if (request.path != "/later") return echo(request, std::move(responder));
    const auto kept = std::make_shared<Responder>(std::move(responder));
    net::post(io, [kept] { kept->send(text_response(200, "later")); });
  }
};

struct Outcome {
  bool ended = false;  // the session came to its end
  bool threw = false;
  std::string output;
};

/// Plays a script; with `fail_at`, that operation of the stream fails, and all after it.
Outcome play(const ScriptCase& script, std::optional<std::size_t> fail_at) {
  Outcome outcome;
  net::io_context io;
  Options options;
  options.max_body_bytes = 100;
  SessionContext context(options, Answers{io});
  memory::fail_count failure(fail_at.value_or(1'000'000));
  memory::stream stream(io, failure);
  memory::stream client = memory::connect(stream);
  stream.read_size(script.read_max);
  stream.append(script.input);
  stream.close_remote();
  const auto session = std::make_shared<Session<memory::stream>>(std::move(stream), context, false);
  net::co_spawn(io, session->run(), [&](const std::exception_ptr& thrown) {
    outcome.ended = true;
    outcome.threw = thrown != nullptr;
  });
  io.run();  // returns only if nothing is left waiting
  outcome.output = std::string(client.str().data(), client.str().size());
  return outcome;
}

class HttpSessionTest : public ::testing::TestWithParam<ScriptCase> {};

TEST_P(HttpSessionTest, AnswersTheScript) {
  const Outcome outcome = play(GetParam(), std::nullopt);
  EXPECT_TRUE(outcome.ended);
  EXPECT_FALSE(outcome.threw);
  std::size_t from = 0;
  for (const std::string& want : GetParam().wants) {
    const std::size_t at = outcome.output.find(want, from);
    ASSERT_NE(at, std::string::npos) << "no " << want << " in order in " << outcome.output;
    from = at + want.size();
  }
}

TEST_P(HttpSessionTest, EndsCleanlyWhereverTheStreamFails) {
  const std::string whole = play(GetParam(), std::nullopt).output;
  bool complete = false;
  std::size_t failed_runs = 0;
  for (std::size_t n = 1; !complete; ++n) {
    ASSERT_LT(n, 1000U) << "the script never ends without a failure";
    const Outcome outcome = play(GetParam(), n);
    EXPECT_TRUE(outcome.ended) << "operation " << n;
    EXPECT_FALSE(outcome.threw) << "operation " << n;
    EXPECT_EQ(outcome.output, whole.substr(0, outcome.output.size())) << "operation " << n;
    complete = outcome.output == whole;
    if (!complete) ++failed_runs;
  }
  EXPECT_GE(failed_runs, 2U);  // at least a read and a write could fail
}

const std::string kHost = " HTTP/1.1\r\nHost: h\r\n";

INSTANTIATE_TEST_SUITE_P(
    Table, HttpSessionTest,
    ::testing::ValuesIn(std::vector<ScriptCase>{
        {"Get", "GET /a" + kHost + "\r\n", {"200 OK", "GET /a|"}},
        {"PostByteByByte",
         "POST /a" + kHost + "Content-Length: 4\r\n\r\nbody",
         {"200 OK", "POST /a|body"},
         1},
        {"Continue",
         "POST /a" + kHost + "Expect: 100-continue\r\nContent-Length: 4\r\n\r\nbody",
         {"100 Continue\r\n\r\n", "200 OK", "POST /a|body"}},
        {"AnsweredLater", "GET /later" + kHost + "\r\n", {"200 OK", "later"}},
        {"Stream",
         "GET /stream" + kHost + "\r\n",
         {"200 OK", "chunked", "6\r\npiece0\r\n", "6\r\npiece1\r\n", "6\r\npiece2\r\n", "0\r\n"}},
        {"CompressedStream",
         "GET /stream?gzip" + kHost + "Accept-Encoding: gzip\r\n\r\n",
         {"200 OK", "Content-Encoding: gzip", "\r\n0\r\n"}},
        {"OldStream", "GET /stream HTTP/1.0\r\n\r\n", {"200 OK", "piece0piece1piece2"}},
        {"News",
         "GET /news" + kHost + "\r\n",
         {"200 OK", "chunked", "5\r\nnews0\r\n", "5\r\nnews1\r\n", "0\r\n"}},
        {"OldNews", "GET /news HTTP/1.0\r\n\r\n", {"200 OK", "news0news1"}},
        {"HeadOfNews", "HEAD /news" + kHost + "\r\n", {"200 OK", "chunked"}},
        {"NewsThenMore", "GET /news" + kHost + "\r\nGET /c" + kHost + "\r\n", {"news1", "GET /c|"}},
        {"Head", "HEAD /a" + kHost + "\r\n", {"200 OK", "Content-Length: 8"}},
        {"Pipelined",
         "GET /later" + kHost + "\r\nGET /stream" + kHost + "\r\nGET /c" + kHost + "\r\n",
         {"later", "piece2", "GET /c|"}},
        {"TooLarge",
         "POST /a" + kHost + "Content-Length: 101\r\n\r\n" + std::string(101, 'x'),
         {"413 Payload Too Large", "larger than the 100 bytes"}},
        {"TrailerByteByByte",
         "POST /a" + kHost + "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nX-T: 1\r\n\r\n",
         {"200 OK", "POST /a|abc"},
         1},
        {"NotHttp", "hello\r\n\r\n", {"400 Bad Request"}},
    }),
    [](const auto& test) { return test.param.name; });

/// A stream that notes how many bytes it was asked for.
class ReadCounter {
 public:
  using executor_type = memory::stream::executor_type;

  ReadCounter(memory::stream stream, std::size_t& asked)
      : stream_(std::move(stream)), asked_(&asked) {}

  executor_type get_executor() { return stream_.get_executor(); }
  memory::stream& next_layer() { return stream_; }

  template <class Buffers, class Token>
  auto async_read_some(const Buffers& buffers, Token&& token) {
    *asked_ += boost::beast::buffer_bytes(buffers);
    return stream_.async_read_some(buffers, std::forward<Token>(token));
  }
  template <class Buffers, class Token>
  auto async_write_some(const Buffers& buffers, Token&& token) {
    return stream_.async_write_some(buffers, std::forward<Token>(token));
  }

 private:
  memory::stream stream_;
  std::size_t* asked_;
};

TEST(HttpSessionLimitTest, ReadsLittleAheadOfWhatItAnswers) {
  net::io_context io;
  std::optional<Responder> held;
  SessionContext context(
      Options(), [&](const Request&, Responder responder) { held.emplace(std::move(responder)); });
  memory::stream stream(io);
  const memory::stream client = memory::connect(stream);
  std::string pipelined;
  while (pipelined.size() < 5'000'000) pipelined += "GET /a" + kHost + "\r\n";
  stream.append(pipelined);
  std::size_t asked = 0;
  const auto session =
      std::make_shared<Session<ReadCounter>>(ReadCounter(std::move(stream), asked), context, false);
  net::co_spawn(io, session->run(), net::detached);
  io.poll();
  EXPECT_TRUE(held);
  EXPECT_EQ(context.requests, 1U);
  EXPECT_LE(asked, context.options.max_header_bytes + 2 * kReadBytes);
  session->cut();
  io.run();  // returns only if nothing is left waiting
}

}  // namespace
}  // namespace tangram::http
