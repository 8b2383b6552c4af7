#include "http/server.hpp"
#include "tests/http/fixture.hpp"
#include "tests/http/tls/fixture.hpp"
#include "tests/testing/log_probe.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <future>
#include <mutex>
#include <random>
#include <stdexcept>
#include <vector>

namespace tangram::http {
namespace {

using testing::LogProbe;

TEST(HttpFailureTest, LogsAndAnswersForAHandlerThatThrows) {
  LogProbe log("the handler of GET /standard failed: secret");
  const auto server = serve([](Request request, Responder responder) {
    if (request.path == "/standard") throw std::runtime_error("secret");
    if (request.path == "/other") throw 7;
    echo(request, std::move(responder));
  });
  auto client = client_of(*server);
  for (const char* path : {"/standard", "/other"}) {
    const auto reply = reply_of(client.request("GET", path));
    EXPECT_EQ(reply.status, 500);
    EXPECT_EQ(reply.body.find("secret"), std::string::npos);
  }
  log.wait();
  EXPECT_EQ(reply_of(client.request("GET", "/fine")).body, "GET /fine|");
  EXPECT_EQ(server->counters().accepted, 1U);
}

TEST(HttpFailureTest, AnswersForAHandlerThatForgets) {
  const auto server = serve([](const Request&, const Responder&) {});
  auto client = client_of(*server);
  EXPECT_EQ(reply_of(client.request("GET", "/")).status, 500);
}

TEST(HttpClientTest, NeverWaitsOnAConnectionThatFailed) {
  const auto server = serve(echo);
  auto client = client_of(*server);
  EXPECT_EQ(reply_of(client.request("GET", "/")).status, 200);
  server->stop();
  EXPECT_EQ(reply_of(client.request("GET", "/")).status, 0);  // the connection ends
  for (int i = 0; i < 3; ++i) {
    const std::string why = reply_of(client.request("GET", "/")).body;
    EXPECT_NE(why.find("refused"), std::string::npos) << why;
  }
}

TEST(ResponderTest, AnswersOnceWithTheFirstResponse) {
  std::vector<int> sent;
  const auto record = [&](const Response& response) { sent.push_back(response.status); };
  {
    Responder responder(record);
    responder.send(text_response(201, "first"));
    responder.send(text_response(202, "second"));
  }
  EXPECT_EQ(sent, std::vector<int>({201}));
}

TEST(ResponderTest, AnswersForWhatIsOverwrittenOrDestroyedUnanswered) {
  std::vector<std::pair<char, int>> sent;
  const auto record = [&](char who) {
    return Responder([&sent, who](const Response& r) { sent.emplace_back(who, r.status); });
  };
  {
    Responder a = record('a');
    Responder b = std::move(a);
    b = record('b');  // a can be answered no more
    EXPECT_EQ(sent, (std::vector<std::pair<char, int>>{{'a', 500}}));
  }
  EXPECT_EQ(sent, (std::vector<std::pair<char, int>>{{'a', 500}, {'b', 500}}));
}

/// While it lives accept() fails as in a process that has no descriptor left. A real limit would
/// fail UBSan too: it opens a pipe to see whether an object's memory can be read.
class NoDescriptorsLeft {
 public:
  NoDescriptorsLeft() { none_left = true; }
  ~NoDescriptorsLeft() { none_left = false; }
  NoDescriptorsLeft(const NoDescriptorsLeft&) = delete;
  NoDescriptorsLeft& operator=(const NoDescriptorsLeft&) = delete;

  static inline std::atomic<bool> none_left = false;
};

TEST(HttpFailureTest, AcceptsAgainAfterTheProcessRanOutOfDescriptors) {
  LogProbe log("cannot accept a connection");
  const auto server = serve(echo);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(server->port());
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int client = socket(AF_INET, SOCK_STREAM, 0);
  ASSERT_GE(client, 0) << errno;
  {
    const NoDescriptorsLeft no_descriptors;
    ASSERT_EQ(connect(client, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0)
        << errno;
    log.wait();
    EXPECT_EQ(server->counters().accepted, 0U);
  }
  const std::string request = "GET /back HTTP/1.0\r\n\r\n";
  ASSERT_EQ(send(client, request.data(), request.size(), 0), static_cast<ssize_t>(request.size()));
  std::string reply;
  std::array<char, 512> piece{};
  for (ssize_t n = 1; n > 0;) {
    n = recv(client, piece.data(), piece.size(), 0);
    if (n > 0) reply.append(piece.data(), static_cast<std::size_t>(n));
  }
  EXPECT_NE(reply.find("GET /back|"), std::string::npos) << errno << ' ' << reply;
  close(client);
}

/// A clock that fails on demand: the server reads it at each connection.
class FailingClock final : public Clock {
 public:
  [[nodiscard]] TimePoint now() const override {
    if (failing) throw std::runtime_error("no time");
    return TimePoint();
  }
  [[nodiscard]] WallTime wall() const override { return std::chrono::system_clock::now(); }
  std::atomic<bool> failing = false;
};

TEST(HttpFailureTest, AcceptsFurtherConnectionsAfterOneThatItCouldNotTakeIn) {
  FailingClock clock;
  const auto ca = make_authority();
  const TlsFiles files(server_of(ca));
  const auto server = serve(echo, tls_options(files.load(clock)));
  clock.failing = true;
  auto unlucky = tls_client(ca);
  EXPECT_NE(connect_error(unlucky, server->port()), "");
  clock.failing = false;
  auto lucky = tls_client(ca);
  EXPECT_EQ(connect_error(lucky, server->port()), "");
}

TEST(HttpFailureTest, SurvivesGarbage) {
  auto options = local_options();
  options.max_body_bytes = 4096;
  const auto server = serve(echo, options);
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  const std::string valid = "POST /x HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc";
  for (int round = 0; round < 200; ++round) {
    std::string bytes = round % 2 == 0 ? valid : std::string(random() % 600, ' ');
    const std::size_t changes = round % 2 == 0 ? 1 + random() % 4 : bytes.size();
    for (std::size_t i = 0; i < changes; ++i) {
      bytes[random() % bytes.size()] = static_cast<char>(random() % 256);
    }
    auto client = client_of(*server);
    ASSERT_TRUE(client.send(bytes));
  }
  EXPECT_EQ(reply_of(client_of(*server).request("GET", "/alive")).body, "GET /alive|");
}

}  // namespace
}  // namespace tangram::http

/// Stands in for the C library's, which Asio calls, in all tests of this program.
extern "C" int accept(int listener, sockaddr* peer, socklen_t* peer_size) {
  if (tangram::http::NoDescriptorsLeft::none_left) {
    errno = EMFILE;
    return -1;
  }
  return static_cast<int>(syscall(SYS_accept, listener, peer, peer_size));
}
