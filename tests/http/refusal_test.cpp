#include "http/server.hpp"
#include "tests/http/fixture.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <vector>

namespace tangram::http {
namespace {

struct RefusalCase {
  std::string name;
  std::string bytes;
  int want_status = 400;
  std::string want_text;  // in the body

  friend void PrintTo(const RefusalCase& c, std::ostream* out) { *out << c.name; }
};

constexpr std::size_t kBodyLimit = 1000;
constexpr std::size_t kHeaderLimit = 512;

class HttpRefusalTest : public ::testing::TestWithParam<RefusalCase> {};

TEST_P(HttpRefusalTest, SaysWhatIsWrongAndEndsTheConnection) {
  auto options = local_options();
  options.max_body_bytes = kBodyLimit;
  options.max_header_bytes = kHeaderLimit;
  const auto server = serve(echo, options);
  auto client = client_of(*server);
  ASSERT_TRUE(client.send(GetParam().bytes));
  const auto reply = reply_of(client.receive());
  EXPECT_EQ(reply.status, GetParam().want_status) << reply.body;
  EXPECT_NE(reply.body.find(GetParam().want_text), std::string::npos) << reply.body;
  EXPECT_EQ(reply.header("Connection"), "close");
  EXPECT_TRUE(client.wait_for_close());
  EXPECT_EQ(server->counters().requests, 0U);  // the handler never saw it
  EXPECT_EQ(reply_of(client_of(*server).request("GET", "/next")).body, "GET /next|");
}

const std::string kPost = "POST /x HTTP/1.1\r\nHost: h\r\n";

INSTANTIATE_TEST_SUITE_P(
    Table, HttpRefusalTest,
    ::testing::ValuesIn(std::vector<RefusalCase>{
        {"BodyLongerThanTheLimit", kPost + "Content-Length: 1001\r\n\r\n" + std::string(1001, 'x'),
         413, "larger than the 1000 bytes"},
        {"BodyTooLongIsRefusedBeforeItComes", kPost + "Content-Length: 99999999999\r\n\r\n", 413,
         "larger than the 1000 bytes"},
        {"BodyTooLongIsNotAskedFor", kPost + "Content-Length: 1001\r\nExpect: 100-continue\r\n\r\n",
         413, "larger than the 1000 bytes"},
        {"ChunksLongerThanTheLimit",
         kPost + "Transfer-Encoding: chunked\r\n\r\n3e8\r\n" + std::string(1000, 'x') +
             "\r\n1\r\nx\r\n0\r\n\r\n",
         413, "larger than the 1000 bytes"},
        {"HeaderLongerThanTheLimit", kPost + "X: " + std::string(600, 'x') + "\r\n\r\n", 431,
         "larger than the 512 bytes"},
        {"HeaderWithoutEnd", kPost + "X: " + std::string(60'000, 'x'), 431,
         "larger than the 512 bytes"},
        {"TargetWithoutEnd", "GET /" + std::string(60'000, 'x'), 431, "larger than the 512 bytes"},
        {"NotHttp", "hello\r\n\r\n", 400, "not HTTP/1.1"},
        {"TlsHello", std::string("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 15), 400,
         "not HTTP/1.1"},
        {"Http2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400, "not HTTP/1.1"},
        {"NoHost", "GET / HTTP/1.1\r\n\r\n", 400, "exactly one Host"},
        {"TwoHosts", "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400, "exactly one Host"},
        {"LengthIsNoNumber", kPost + "Content-Length: ten\r\n\r\n", 400, "not HTTP/1.1"},
        {"TwoLengths", kPost + "Content-Length: 1\r\nContent-Length: 2\r\n\r\nab", 400,
         "not HTTP/1.1"},
        {"LengthAndChunks",
         kPost + "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400,
         "not HTTP/1.1"},
        {"UnknownCoding", kPost + "Transfer-Encoding: gzip\r\n\r\n", 400, "chunked"},
        {"ChunkSizeIsNoNumber", kPost + "Transfer-Encoding: chunked\r\n\r\nxyz\r\n", 400,
         "not HTTP/1.1"},
        {"TargetIsNoPath", "GET x HTTP/1.1\r\nHost: h\r\n\r\n", 400, "begins with \"/\""},
        {"TargetWithBadEscape", "GET /%zz HTTP/1.1\r\nHost: h\r\n\r\n", 400, "%25"},
    }),
    [](const auto& test) { return test.param.name; });

TEST(HttpRefusalTest, TakesABodyAndAHeaderOfExactlyTheLimit) {
  auto options = local_options();
  options.max_body_bytes = kBodyLimit;
  options.max_header_bytes = kHeaderLimit;
  const auto server = serve(echo, options);
  auto client = client_of(*server);
  const std::string body(kBodyLimit, 'x');
  std::string head = kPost + "Content-Length: 1000\r\nX: ";
  head.append(kHeaderLimit - head.size() - 4, 'x').append("\r\n\r\n");
  ASSERT_TRUE(client.send(head + body));
  const auto reply = reply_of(client.receive());
  EXPECT_EQ(reply.status, 200) << reply.body;
  EXPECT_EQ(reply.body, "POST /x|" + body);
}

}  // namespace
}  // namespace tangram::http
