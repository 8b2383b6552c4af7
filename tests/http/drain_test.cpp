#include "http/server.hpp"
#include "tests/http/fixture.hpp"

#include <gtest/gtest.h>

#include <future>
#include <optional>
#include <thread>

namespace tangram::http {
namespace {

using namespace std::chrono_literals;

/// A server whose one request stays in flight until the test answers it.
struct InFlight {
  explicit InFlight(Options options = local_options())
      : server(serve([this](const Request&, Responder r) { arrived.set_value(std::move(r)); },
                     std::move(options))),
        client(client_of(*server)) {
    if (!client.send("GET /x HTTP/1.1\r\nHost: h\r\n\r\n")) throw std::runtime_error("cannot send");
    responder.emplace(arrived.get_future().get());
  }

  std::promise<Responder> arrived;
  std::unique_ptr<Server> server;
  Client client;
  std::optional<Responder> responder;
};

/// Returns once nothing listens on the port any more: stop() has begun.
void wait_until_refused(std::uint16_t port) {
  Client client;
  while (client.connect("127.0.0.1", port)) {}
}

TEST(HttpDrainTest, AnswersTheRequestInFlightAndThenEndsTheConnection) {
  InFlight flight;
  std::thread stopping([&] { flight.server->stop(); });
  wait_until_refused(flight.server->port());
  flight.responder->send(text_response(200, "done"));
  const auto reply = reply_of(flight.client.receive());
  EXPECT_EQ(reply.body, "done\n");
  EXPECT_EQ(reply.header("Connection"), "close");
  EXPECT_TRUE(flight.client.wait_for_close());
  stopping.join();
  EXPECT_EQ(flight.server->counters().open, 0U);
}

TEST(HttpDrainTest, FinishesARequestOfWhichAPartHasArrived) {
  const auto server = serve(echo);
  auto client = client_of(*server);
  ASSERT_TRUE(
      client.send("POST /x HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n"
                  "Expect: 100-continue\r\n\r\n"));
  ASSERT_EQ(reply_of(client.receive()).status, 100);  // so the server is in the midst of reading
  std::thread stopping([&] { server->stop(); });
  wait_until_refused(server->port());
  ASSERT_TRUE(client.send("body"));
  const auto reply = reply_of(client.receive());
  EXPECT_EQ(reply.body, "POST /x|body");
  EXPECT_EQ(reply.header("Connection"), "close");
  stopping.join();
}

TEST(HttpDrainTest, AnswersAFurtherRequestOnAnOpenConnectionWithClose) {
  std::promise<void> begun;
  std::promise<void> go_on;
  const auto server = serve([&](Request request, Responder responder) {
    if (request.path != "/page") return echo(request, std::move(responder));
    Response page;
    page.producer = [&, pieces = 0](std::string& out) mutable {
      out += "x";
      if (++pieces == 2) {  // the head is out by now, and says keep-alive
        begun.set_value();
        go_on.get_future().wait();
      }
      return pieces < 3;
    };
    responder.send(std::move(page));
  });
  auto client = client_of(*server);
  ASSERT_TRUE(
      client.send("GET /page HTTP/1.1\r\nHost: h\r\n\r\nGET /2 HTTP/1.1\r\nHost: h\r\n\r\n"));
  begun.get_future().wait();
  std::thread stopping([&] { server->stop(); });
  wait_until_refused(server->port());
  go_on.set_value();
  const auto page = reply_of(client.receive());
  EXPECT_EQ(page.body, "xxx");
  EXPECT_EQ(page.header("Connection"), "");
  const auto second = reply_of(client.receive());
  EXPECT_EQ(second.body, "GET /2|");
  EXPECT_EQ(second.header("Connection"), "close");
  stopping.join();
}

TEST(HttpDrainTest, ClosesIdleConnections) {
  const auto server = serve(echo);
  auto fresh = client_of(*server);
  auto used = client_of(*server);
  ASSERT_EQ(reply_of(used.request("GET", "/")).status, 200);
  server->stop();
  EXPECT_TRUE(fresh.wait_for_close());
  EXPECT_TRUE(used.wait_for_close());
  EXPECT_EQ(server->counters().open, 0U);
}

TEST(HttpDrainTest, CutsWhatDoesNotEndInTimeAndDropsItsLateAnswer) {
  auto options = local_options();
  options.drain_timeout = 1ms;
  InFlight flight(options);
  flight.server->stop();
  EXPECT_TRUE(flight.client.wait_for_close());
  EXPECT_EQ(flight.server->counters().open, 0U);
  flight.server.reset();
  flight.responder->send(text_response(200, "too late"));  // the client is gone; nothing breaks
}

TEST(HttpDrainTest, CutsAClientThatNeverReads) {
  auto options = local_options();
  options.drain_timeout = 1ms;
  std::promise<void> begun;
  const auto server = serve(
      [&](const Request&, Responder responder) {
        Response endless;
        endless.producer = [&, first = true](std::string& out) mutable {
          if (std::exchange(first, false)) begun.set_value();
          out.append(65'536, 'x');
          return true;
        };
        responder.send(std::move(endless));
      },
      options);
  auto client = client_of(*server);
  ASSERT_TRUE(client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n"));
  begun.get_future().wait();
  server->stop();
  EXPECT_EQ(server->counters().open, 0U);
  EXPECT_FALSE(client.receive());
}

TEST(HttpDrainTest, CanBeStoppedTwiceAndFromManyThreads) {
  InFlight flight;
  std::thread first([&] { flight.server->stop(); });
  std::thread second([&] { flight.server->stop(); });
  wait_until_refused(flight.server->port());
  flight.responder->send(text_response(200, "done"));
  first.join();
  second.join();
  flight.server->stop();
  EXPECT_EQ(reply_of(flight.client.receive()).body, "done\n");
}

TEST(HttpDrainTest, IsStoppedByItsDestructor) {
  auto server = serve(echo);
  auto client = client_of(*server);
  ASSERT_EQ(reply_of(client.request("GET", "/")).status, 200);
  const auto port = server->port();
  server.reset();
  EXPECT_TRUE(client.wait_for_close());
  EXPECT_FALSE(Client().connect("127.0.0.1", port));
}

}  // namespace
}  // namespace tangram::http
