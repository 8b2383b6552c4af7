#include "http/body.hpp"

#include "tests/http/fixture.hpp"

#include <gtest/gtest.h>
#include <zlib.h>

#include <array>
#include <atomic>
#include <random>
#include <stdexcept>

namespace tangram::http {
namespace {

/// What `compressed` unpacks to; the text of zlib's error if it is no whole gzip stream.
std::string gunzip(std::string compressed) {
  z_stream stream{};
  inflateInit2(&stream, 15 + 16);
  stream.next_in = reinterpret_cast<Bytef*>(compressed.data());
  stream.avail_in = static_cast<uInt>(compressed.size());
  std::string out;
  std::array<char, 4096> piece{};
  int state = Z_OK;
  while (state == Z_OK) {
    stream.next_out = reinterpret_cast<Bytef*>(piece.data());
    stream.avail_out = static_cast<uInt>(piece.size());
    state = inflate(&stream, Z_NO_FLUSH);
    out.append(piece.data(), piece.size() - stream.avail_out);
  }
  const bool whole = state == Z_STREAM_END && stream.avail_in == 0;
  inflateEnd(&stream);
  return whole ? out : "broken gzip stream";
}

std::string line(int i) { return "metric{node=\"n" + std::to_string(i) + "\"} 1\n"; }

std::string lines(int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += line(i);
  return text;
}

/// Gives line after line, with an empty piece before each: that is allowed.
BodyProducer line_producer(int count) {
  return [count, i = 0](std::string& out) mutable {
    if (i % 2 == 1) out += line(i / 2);
    return ++i < 2 * count;
  };
}

Handler streams(bool compressible, int count) {
  return [=](const Request&, Responder responder) {
    Response response;
    response.content_type = "text/plain; version=0.0.4";
    response.producer = line_producer(count);
    response.gzip = compressible;
    responder.send(std::move(response));
  };
}

const Fields kTakesGzip = {{"Accept-Encoding", "gzip"}};

TEST(GzipTest, UnpacksToTheSameText) {
  std::mt19937 random(7);  // fixed: the lengths matter, not the bytes
  for (const std::size_t size : {0U, 1U, 16'383U, 16'384U, 16'385U, 1'000'000U}) {
    std::string text(size, '\0');
    for (char& byte : text) byte = static_cast<char>(random());
    EXPECT_EQ(gunzip(gzip(text)), text) << size << " random bytes";
  }
  const std::string page = lines(10'000);
  EXPECT_EQ(gunzip(gzip(page)), page);
  EXPECT_LT(gzip(page).size(), page.size() / 5);
}

TEST(BodyPiecesTest, SkipsEmptyPiecesAndEndsOnce) {
  BodyPieces pieces(line_producer(2), false);
  std::string piece;
  ASSERT_TRUE(pieces.next(piece));
  EXPECT_EQ(piece, line(0));
  ASSERT_TRUE(pieces.next(piece));
  EXPECT_EQ(piece, line(1));
  EXPECT_FALSE(pieces.next(piece));
  EXPECT_FALSE(pieces.next(piece));
}

TEST(HttpStreamTest, SendsAProducedBodyInChunks) {
  const auto server = serve(streams(true, 1000));
  auto client = client_of(*server);
  const auto reply = reply_of(client.request("GET", "/"));
  EXPECT_EQ(reply.header("Transfer-Encoding"), "chunked");
  EXPECT_EQ(reply.header("Content-Encoding"), "");
  EXPECT_EQ(reply.header("Vary"), "Accept-Encoding");
  EXPECT_EQ(reply.body, lines(1000));
  EXPECT_EQ(reply_of(client.request("GET", "/")).body, lines(1000));  // on the same connection
  EXPECT_EQ(server->counters().accepted, 1U);
}

TEST(HttpStreamTest, CompressesForAClientThatAcceptsIt) {
  const auto server = serve(streams(true, 1000));
  auto client = client_of(*server);
  const auto reply = reply_of(client.request("GET", "/", "", "", kTakesGzip));
  EXPECT_EQ(reply.header("Content-Encoding"), "gzip");
  EXPECT_EQ(reply.header("Transfer-Encoding"), "chunked");
  EXPECT_EQ(gunzip(reply.body), lines(1000));
}

TEST(HttpStreamTest, DoesNotCompressWhatTheHandlerDidNotMarkForIt) {
  const auto server = serve(streams(false, 3));
  const auto reply = reply_of(client_of(*server).request("GET", "/", "", "", kTakesGzip));
  EXPECT_EQ(reply.header("Content-Encoding"), "");
  EXPECT_EQ(reply.body, lines(3));
}

TEST(HttpStreamTest, CompressesAWholeBodyWithItsLength) {
  const auto server = serve([](const Request&, Responder responder) {
    Response response = text_response(200, lines(100));
    response.gzip = true;
    responder.send(std::move(response));
  });
  auto client = client_of(*server);
  const auto packed = reply_of(client.request("GET", "/", "", "", kTakesGzip));
  EXPECT_EQ(packed.header("Content-Encoding"), "gzip");
  EXPECT_EQ(packed.header("Content-Length"), std::to_string(packed.body.size()));
  EXPECT_EQ(gunzip(packed.body), lines(100) + "\n");
  EXPECT_EQ(reply_of(client.request("GET", "/")).body, lines(100) + "\n");
}

TEST(HttpStreamTest, SendsAnEmptyPage) {
  const auto server = serve([](const Request&, Responder responder) {
    Response response;
    response.producer = [](std::string&) { return false; };
    responder.send(std::move(response));
  });
  auto client = client_of(*server);
  EXPECT_EQ(reply_of(client.request("GET", "/")).status, 200);
  EXPECT_EQ(reply_of(client.request("GET", "/")).body, "");
}

TEST(HttpStreamTest, DoesNotProduceForHead) {
  std::atomic<int> calls = 0;
  const auto server = serve([&](const Request&, Responder responder) {
    Response response;
    response.producer = [&](std::string& out) {
      ++calls;
      out += "x";
      return false;
    };
    responder.send(std::move(response));
  });
  auto client = client_of(*server);
  EXPECT_EQ(reply_of(client.request("HEAD", "/")).header("Transfer-Encoding"), "chunked");
  EXPECT_EQ(calls, 0);
  EXPECT_EQ(reply_of(client.request("GET", "/")).body, "x");
}

TEST(HttpStreamTest, EndsAnHttp10BodyWithTheConnection) {
  const auto server = serve(streams(false, 50));
  auto client = client_of(*server);
  ASSERT_TRUE(client.send("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"));
  const auto reply = reply_of(client.receive());
  EXPECT_EQ(reply.header("Transfer-Encoding"), "");
  EXPECT_EQ(reply.body, lines(50));
}

TEST(HttpStreamTest, AnswersAProducerThatFailsAtOnceWith500) {
  const auto server = serve([](const Request&, Responder responder) {
    Response response;
    response.producer = [](std::string&) -> bool { throw std::runtime_error("no page"); };
    responder.send(std::move(response));
  });
  auto client = client_of(*server);
  EXPECT_EQ(reply_of(client.request("GET", "/")).status, 500);
  EXPECT_EQ(reply_of(client.request("GET", "/")).status, 500);
  EXPECT_EQ(server->counters().accepted, 1U);
}

TEST(HttpStreamTest, CutsAPageWhoseProducerFailsLater) {
  const auto server = serve([](const Request&, Responder responder) {
    Response response;
    response.producer = [first = true](std::string& out) mutable {
      if (!std::exchange(first, false)) throw std::runtime_error("no more");
      out += "half";
      return true;
    };
    responder.send(std::move(response));
  });
  auto client = client_of(*server);
  const auto reply = client.request("GET", "/");
  ASSERT_FALSE(reply) << "half a page passed for a whole one";
  EXPECT_EQ(reply.error().code, Errc::kUnavailable);
}

}  // namespace
}  // namespace tangram::http
