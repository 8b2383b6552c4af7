// RestApi's calls against a server that misbehaves in every way the network can.
#include "kube/rest/rest_api.hpp"

#include "tests/kube/rest/rest_fixture.hpp"

#include <gtest/gtest.h>
#include <zlib.h>

#include <atomic>
#include <barrier>
#include <fstream>
#include <latch>
#include <thread>

namespace tangram::kube {
namespace {

using namespace std::chrono_literals;
using testing::get_request;
using testing::Peer;
using testing::RawServer;
using testing::write_request;

class RestApiTest : public testing::RestFixture {};

/// Answers every request on every connection with 200 and this body.
RawServer::Script always(const std::string& body) {
  return [body](Peer& peer, int /*number*/) {
    while (peer.read_request()) peer.answer("200 OK", body);
  };
}

Request post() { return write_request(Method::kPost, "/api/v1/things", R"({"a":1})"); }

TEST_F(RestApiTest, SendsWhatTheRequestSays) {
  std::string seen;
  serve([&](Peer& peer, int /*number*/) {
    seen = peer.read_request().value_or("");
    peer.answer("201 Created", "made");
  });
  Request request = write_request(Method::kPatch, "/api/v1/nodes/a%2Fb", R"({"a":1})");
  request.query = {{"fieldSelector", "a=b,c!=d e"}, {"limit", "5"}};
  options.user_agent = "tangram-test/1";
  config.token.text = "s3cret";
  const auto response = api().call(request);
  ASSERT_TRUE(response.has_value()) << response.error().message;
  EXPECT_EQ(response->status, 201);
  EXPECT_EQ(response->body, "made");
  EXPECT_EQ(response->retry_after, std::nullopt);
  EXPECT_EQ(seen,
            "PATCH /api/v1/nodes/a%2Fb?fieldSelector=a%3Db%2Cc%21%3Dd%20e&limit=5 HTTP/1.1\r\n"
            "Host: 127.0.0.1:" +
                server->port() +
                "\r\n"
                "User-Agent: tangram-test/1\r\n"
                "Accept: application/json\r\n"
                "Content-Type: application/merge-patch+json\r\n"
                "Authorization: Bearer s3cret\r\n"
                "Content-Length: 7\r\n\r\n"
                R"({"a":1})");
}

TEST_F(RestApiTest, KeepsThePathOfTheServersUrl) {
  std::string seen;
  serve([&](Peer& peer, int /*number*/) {
    seen = peer.read_request().value_or("");
    peer.answer("200 OK", "");
  });
  config.server += "/k8s/clusters/c-1/";
  ASSERT_TRUE(api().call(get_request("/api/v1/pods")).has_value());
  EXPECT_TRUE(seen.starts_with("GET /k8s/clusters/c-1/api/v1/pods HTTP/1.1\r\n")) << seen;
}

TEST_F(RestApiTest, EveryMethodIsSentByItsName) {
  std::string methods;
  serve([&](Peer& peer, int /*number*/) {
    while (const auto request = peer.read_request()) {
      methods += request->substr(0, request->find(' ') + 1);
      peer.answer("200 OK", "{}");
    }
  });
  for (const Method method :
       {Method::kPost, Method::kGet, Method::kDelete, Method::kPut, Method::kPatch, Method::kGet}) {
    Request request = get_request("/x");
    request.method = method;
    if (method != Method::kGet && method != Method::kDelete) request.body = "{}";
    ASSERT_TRUE(api().call(request).has_value());
  }
  EXPECT_EQ(methods, "POST GET DELETE PUT PATCH GET ");
  EXPECT_EQ(server->connections(), 1);
}

std::string gzip(const std::string& text) {
  std::string packed(1000, ' ');
  z_stream stream{};
  constexpr int kGzipWindow = 15 + 16;
  EXPECT_EQ(deflateInit2(&stream, 9, Z_DEFLATED, kGzipWindow, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string input = text;
  stream.next_in = reinterpret_cast<Bytef*>(input.data());
  stream.avail_in = static_cast<uInt>(input.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

TEST_F(RestApiTest, ReadsChunkedAndCompressedAnswers) {
  const std::string text(10'000, 'a');
  serve([&](Peer& peer, int /*number*/) {
    (void)peer.read_request();
    peer.say(
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n");
    const auto second = peer.read_request();
    EXPECT_NE(second.value_or("").find("\r\nAccept-Encoding: gzip\r\n"), std::string::npos);
    peer.answer("200 OK", gzip(text), "Content-Encoding: gzip\r\n");
  });
  EXPECT_EQ(api().call(get_request("/x"))->body, "abcde");
  EXPECT_EQ(api().call(get_request("/x"))->body, text);
}

TEST_F(RestApiTest, LimitsWhatACompressedAnswerUnpacksTo) {
  serve([](Peer& peer, int /*number*/) {
    (void)peer.read_request();
    peer.answer("200 OK", gzip(std::string(10'000, 'a')), "Content-Encoding: gzip\r\n");
  });
  options.max_body = 9'999;
  EXPECT_FALSE(api().call(get_request("/x")).has_value());
}

TEST_F(RestApiTest, KeepsItsConnection) {
  serve(always("{}"));
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(api().call(i % 2 == 0 ? post() : get_request("/x")));
  EXPECT_EQ(server->connections(), 1);
}

TEST_F(RestApiTest, NothingListensIsUnavailable) {
  serve(always("{}"));
  const auto first = api().call(post());
  ASSERT_TRUE(first.has_value());
  server.reset();
  const auto response = api().call(post());
  ASSERT_FALSE(response.has_value());
  EXPECT_EQ(response.error().code, Errc::kUnavailable);
  EXPECT_NE(response.error().message.find("POST /api/v1/things"), std::string::npos);
}

TEST_F(RestApiTest, UnknownNameIsUnavailable) {
  config.server = "http://no-such-host.invalid:1";
  EXPECT_EQ(api().call(get_request("/x")).error().code, Errc::kUnavailable);
}

TEST_F(RestApiTest, ResetAfterTheRequestIsUnknown) {
  serve([](Peer& peer, int /*number*/) {
    (void)peer.read_request();
    peer.reset_at_end();
  });
  for (const Request& request : {post(), get_request("/x")}) {
    const auto response = api().call(request);
    ASSERT_FALSE(response.has_value());
    EXPECT_EQ(response.error().code, Errc::kTimeout) << response.error().message;
  }
}

TEST_F(RestApiTest, ResetBeforeTheRequestWasReadIsNoAnswerAndNotRepeated) {
  serve([](Peer& peer, int /*number*/) { peer.reset_at_end(); });
  // Whether bytes of the request had left by then is chance; that it is not sent anew is not.
  EXPECT_FALSE(api().call(post()).has_value());
  EXPECT_EQ(server->connections(), 1);
}

TEST_F(RestApiTest, AnswerCutShortIsUnknown) {
  serve([](Peer& peer, int /*number*/) {
    (void)peer.read_request();
    peer.say("HTTP/1.1 201 Created\r\nContent-Length: 100\r\n\r\nhalf");
  });
  EXPECT_EQ(api().call(post()).error().code, Errc::kTimeout);
}

TEST_F(RestApiTest, SilenceUntilTheDeadlineIsUnknown) {
  serve([](Peer& peer, int /*number*/) { peer.await_end(); });
  Request request = post();
  request.timeout = 500ms;
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(api().call(request).error().code, Errc::kTimeout);
  EXPECT_GE(std::chrono::steady_clock::now() - begin, 500ms);
}

/// Answers the first request of a connection; resets it when the second one has come.
/// @returns how many came
int die_at_second_request(Peer& peer, int number) {
  if (!peer.read_request()) return 0;
  peer.answer("200 OK", std::to_string(number));
  const bool again = peer.read_request().has_value();
  peer.reset_at_end();
  return again ? 2 : 1;
}

TEST_F(RestApiTest, WriteOnAConnectionThatDiesIsNotSentTwice) {
  Request erase = get_request("/x");
  erase.method = Method::kDelete;
  for (const Request& write : {post(), erase}) {
    std::atomic<int> requests{0};
    serve([&](Peer& peer, int number) { requests += die_at_second_request(peer, number); });
    ASSERT_TRUE(api().call(get_request("/x")).has_value());
    const auto response = api().call(write);
    ASSERT_FALSE(response.has_value());
    EXPECT_EQ(response.error().code, Errc::kTimeout);
    forget_api();
    server.reset();
    EXPECT_EQ(requests, 2);
  }
}

TEST_F(RestApiTest, WriteIsUnknownAlsoIfTheServerIsGoneAfterwards) {
  serve([&](Peer& peer, int /*number*/) {
    (void)peer.read_request();
    peer.answer("200 OK", "");
    (void)peer.read_request();
    server->stop_listening();
    peer.reset_at_end();
  });
  ASSERT_TRUE(api().call(get_request("/x")).has_value());
  const auto response = api().call(post());
  ASSERT_FALSE(response.has_value());
  EXPECT_EQ(response.error().code, Errc::kTimeout) << response.error().message;
}

TEST_F(RestApiTest, ReadOnAConnectionThatDiesIsSentAgain) {
  serve([](Peer& peer, int number) { die_at_second_request(peer, number); });
  ASSERT_EQ(api().call(get_request("/x"))->body, "1");
  const auto again = api().call(get_request("/x"));
  ASSERT_TRUE(again.has_value()) << again.error().message;
  EXPECT_EQ(again->body, "2");
}

TEST_F(RestApiTest, WriteAvoidsAConnectionThatWasClosedBefore) {
  std::latch closed(1);
  serve([&](Peer& peer, int number) {
    if (!peer.read_request()) return;
    peer.answer("200 OK", std::to_string(number));
    if (number == 1) peer.cut_off();
    if (number == 1) closed.count_down();
    peer.await_end();
  });
  ASSERT_EQ(api().call(get_request("/x"))->body, "1");
  closed.wait();
  const auto response = api().call(post());
  ASSERT_TRUE(response.has_value()) << response.error().message;
  EXPECT_EQ(response->body, "2");
}

TEST_F(RestApiTest, AnswerThatIsTooLongIsRefused) {
  serve(always(std::string(1001, 'x')));
  options.max_body = 1000;
  const auto response = api().call(get_request("/x"));
  ASSERT_FALSE(response.has_value());
  EXPECT_EQ(response.error().code, Errc::kTooLarge);
  EXPECT_NE(response.error().message.find("longer than 1000 bytes"), std::string::npos);
}

/// The answer has the whole object: 1.5 MB in etcd, all of it '<'.
TEST_F(RestApiTest, AWriteToTheLargestObjectOfEtcdIsAnswered) {
  std::string large;
  large.resize(9'000'000, 'x');
  serve(always(large));
  const auto response = api().call(post());
  ASSERT_TRUE(response.has_value()) << response.error().message;
  EXPECT_EQ(response->status, 200);
  EXPECT_EQ(response->body.size(), 9'000'000U);
}

TEST_F(RestApiTest, OnlyWhatIsReadMayBeAsLongAsAList) {
  serve([](Peer& peer, int /*number*/) {
    const std::string long_body(1001, 'x');
    while (const auto request = peer.read_request()) {
      peer.answer(request->find(" /bad") == std::string::npos ? "200 OK" : "404 Not Found",
                  long_body);
    }
  });
  options.max_object = 1000;
  EXPECT_TRUE(api().call(get_request("/x")));
  for (const Request& request : {get_request("/bad"), post()}) {
    const auto response = api().call(request);
    ASSERT_FALSE(response.has_value());
    EXPECT_EQ(response.error().code, Errc::kTimeout);
    EXPECT_NE(response.error().message.find("longer than 1000 bytes"), std::string::npos);
  }
}

TEST_F(RestApiTest, HeadersWithoutEndAreNotWaitedFor) {
  for (const char* line : {"HTTP/1.1 200 OK\r\n", "HTTP/1.1 103 Early Hints\r\n\r\n"}) {
    serve([&](Peer& peer, int /*number*/) {
      (void)peer.read_request();
      peer.say(line);
      const std::string more = std::string(line).ends_with("\r\n\r\n")
                                   ? line
                                   : "X-Header: " + std::string(1000, 'x') + "\r\n";
      while (peer.say(more)) {}
    });
    const auto response = api().call(get_request("/x"));
    ASSERT_FALSE(response.has_value());
    EXPECT_EQ(response.error().code, Errc::kTimeout) << response.error().message;
    forget_api();
  }
}

TEST_F(RestApiTest, RedirectsAreAnswers) {
  serve([](Peer& peer, int /*number*/) {
    while (peer.read_request()) peer.answer("302 Found", "", "Location: http://127.0.0.1:1/\r\n");
  });
  EXPECT_EQ(api().call(get_request("/x"))->status, 302);
}

// ---- "later" ----

/// Answers with the statuses in turn, then 200.
RawServer::Script in_turn(std::vector<std::string> statuses, const std::string& headers) {
  auto next = std::make_shared<std::atomic<std::size_t>>(0);
  return [statuses = std::move(statuses), headers, next](Peer& peer, int /*number*/) {
    while (peer.read_request()) {
      const std::size_t turn = (*next)++;
      const bool over = turn >= statuses.size();
      peer.answer(over ? "200 OK" : statuses[turn], "later", over ? "" : headers);
    }
  };
}

TEST_F(RestApiTest, TooManyRequestsAreSentAgainAfterTheWait) {
  serve(in_turn({"429 Too Many Requests", "429 Too Many Requests"}, "Retry-After: 2\r\n"));
  EXPECT_EQ(api().call(post())->status, 200);
  EXPECT_EQ(slept(), (std::vector<milliseconds>{2s, 2s}));
}

TEST_F(RestApiTest, WaitBeyondTheDeadlineIsHandedBack) {
  serve(in_turn({"429 Too Many Requests"}, "Retry-After: 5\r\n"));
  const auto response = api().call(post());  // its timeout is 5 s
  ASSERT_TRUE(response.has_value());
  EXPECT_EQ(response->status, 429);
  EXPECT_EQ(response->retry_after, 5s);
  EXPECT_EQ(slept(), std::vector<milliseconds>{});
}

TEST_F(RestApiTest, NoRetryAfterOrADateIsHandedBack) {
  for (const char* header : {"", "Retry-After: Wed, 21 Oct 2026 07:28:00 GMT\r\n",
                             "Retry-After: -1\r\n", "Retry-After: 1.5\r\n"}) {
    serve(in_turn({"429 Too Many Requests"}, header));
    const auto response = api().call(get_request("/x"));
    ASSERT_TRUE(response.has_value());
    EXPECT_EQ(response->status, 429) << header;
    EXPECT_EQ(response->retry_after, std::nullopt) << header;
    forget_api();
  }
}

TEST_F(RestApiTest, ServerErrorIsTriedAgainForReadsAlone) {
  serve(in_turn({"503 Service Unavailable"}, "Retry-After: 1\r\n"));
  EXPECT_EQ(api().call(get_request("/x"))->status, 200);
  forget_api();
  serve(in_turn({"503 Service Unavailable"}, "Retry-After: 1\r\n"));
  const auto response = api().call(post());
  EXPECT_EQ(response->status, 503);
  EXPECT_EQ(response->retry_after, 1s);
  EXPECT_EQ(slept(), std::vector<milliseconds>{1s});
}

TEST_F(RestApiTest, LaterForEverIsHandedBackAfterTenSends) {
  std::atomic<int> requests{0};
  serve([&](Peer& peer, int /*number*/) {
    while (peer.read_request()) {
      ++requests;
      peer.answer("429 Too Many Requests", "", "Retry-After: 0\r\n");
    }
  });
  EXPECT_EQ(api().call(post())->status, 429);
  EXPECT_EQ(requests, 10);
}

// ---- the own rate limit ----

TEST_F(RestApiTest, RateLimitHoldsBackCallsButNotUrgentOnes) {
  serve(always("{}"));
  options.qps = 2;
  options.burst = 1;
  ASSERT_TRUE(api().call(get_request("/x")).has_value());
  ASSERT_TRUE(api().call(get_request("/x")).has_value());
  EXPECT_EQ(slept(), std::vector<milliseconds>{500ms});
  Request lease = get_request("/lease");
  lease.urgent = true;
  ASSERT_TRUE(api().call(lease).has_value());
  EXPECT_EQ(slept().size(), 1U);
  Request hurried = get_request("/x");
  hurried.timeout = 1ms;
  const auto response = api().call(hurried);
  ASSERT_FALSE(response.has_value());
  EXPECT_EQ(response.error().code, Errc::kUnavailable);
  EXPECT_NE(response.error().message.find("kube.qps"), std::string::npos);
}

// ---- tokens ----

/// 401 to everything but the good token ("" = all are good); notes which came with each request.
RawServer::Script takes_only(const std::string& good, std::vector<std::string>& tokens) {
  return [good, &tokens](Peer& peer, int /*number*/) {
    while (const auto request = peer.read_request()) {
      const std::size_t at = request->find("Bearer ") + 7;
      tokens.push_back(request->substr(at, request->find("\r\n", at) - at));
      const bool taken = good.empty() || tokens.back() == good;
      peer.answer(taken ? "200 OK" : "401 Unauthorized", "");
    }
  };
}

class RestApiTokenTest : public RestApiTest {
 protected:
  RestApiTokenTest() {
    config.token.file = ::testing::TempDir() + "tangram_token_" +
                        ::testing::UnitTest::GetInstance()->current_test_info()->name();
  }
  void put(const std::string& token) const { std::ofstream(config.token.file) << token << "\n"; }
  std::vector<std::string> tokens;  ///< one connection at a time notes and is waited for
};

TEST_F(RestApiTokenTest, RefusedTokenIsReadAgainAndTriedOnce) {
  put("old");
  serve(takes_only("new", tokens));
  EXPECT_EQ(api().call(post())->status, 401);  // the file holds nothing newer
  put("new");
  EXPECT_EQ(api().call(post())->status, 200);
  put("worse");
  EXPECT_EQ(api().call(post())->status, 200);  // not refused, so not read
  EXPECT_EQ(tokens, (std::vector<std::string>{"old", "old", "new", "new"}));
}

TEST_F(RestApiTokenTest, TokenIsReadAgainEveryMinute) {
  put("first");
  serve(takes_only("", tokens));
  (void)api().call(post());
  put("second");
  clock.advance(59s);
  (void)api().call(post());
  clock.advance(1s);
  (void)api().call(post());
  EXPECT_EQ(tokens, (std::vector<std::string>{"first", "first", "second"}));
}

TEST_F(RestApiTokenTest, FileThatVanishesLeavesTheTokenAsItWas) {
  put("good");
  serve(takes_only("good", tokens));
  ASSERT_EQ(api().call(post())->status, 200);
  std::remove(config.token.file.c_str());
  clock.advance(2min);
  EXPECT_EQ(api().call(post())->status, 200);
}

// ---- configuration ----

TEST_F(RestApiTest, RefusesConfigurationsThatCannotWork) {
  const auto refusal = [&](const std::string& address, auto change) {
    RestConfig wrong;
    wrong.server = address;
    change(wrong);
    const auto made = RestApi::create(wrong, {}, clock);
    return made ? "" : made.error().message;
  };
  const auto as_it_is = [](RestConfig&) {};
  using ::testing::HasSubstr;
  EXPECT_THAT(refusal("", as_it_is), HasSubstr("https://10.0.0.1:6443"));
  EXPECT_THAT(refusal("ftp://a", as_it_is), HasSubstr("is not https"));
  EXPECT_THAT(refusal("https://u:secret@a", as_it_is), HasSubstr("has a user"));
  EXPECT_THAT(refusal("https://u:secret@a", as_it_is), ::testing::Not(HasSubstr("secret")));
  const auto unverified = [](RestConfig& c) {
    c.ca.text = "x";
    c.insecure_skip_tls_verify = true;
  };
  EXPECT_THAT(refusal("https://a", unverified), HasSubstr("drop insecure-skip-tls-verify"));
  EXPECT_THAT(refusal("https://a", [](RestConfig& c) { c.client_key.text = "x"; }),
              HasSubstr("give both or none"));
  const auto token = [](const std::string& text) {
    return [=](RestConfig& c) { c.token.text = text; };
  };
  for (const char* elsewhere :
       {"http://10.0.0.1", "http://127.example.com", "http://[fd00::1]:80"}) {
    EXPECT_THAT(refusal(elsewhere, token("x")), HasSubstr("write https")) << elsewhere;
  }
  for (const char* here : {"http://127.0.0.1:8001", "http://[::1]:8001", "http://localhost"}) {
    EXPECT_EQ(refusal(here, token("x")), "") << here;
  }
  EXPECT_THAT(refusal("https://a", [](RestConfig& c) { c.token.file = "/nowhere"; }),
              HasSubstr("/nowhere: cannot be read"));
  const std::string injected = refusal("https://a", token("secret\r\nX: b"));
  EXPECT_THAT(injected, HasSubstr("the token"));
  EXPECT_THAT(injected, ::testing::Not(HasSubstr("secret")));
}

// ---- many at once ----

TEST_F(RestApiTest, ManyCallsAreUnderWayAtOnce) {
  constexpr int kCalls = 16;
  std::barrier all(kCalls);  // nobody is answered before everybody has asked
  serve([&](Peer& peer, int /*number*/) {
    while (const auto request = peer.read_request()) {
      if (request->starts_with("GET /together")) all.arrive_and_wait();
      peer.answer("200 OK", request->substr(0, request->find(" HTTP")));
    }
  });
  RestApi& shared = api();
  std::vector<std::jthread> threads;
  for (int i = 0; i < kCalls; ++i) {
    threads.emplace_back([&, i] {
      EXPECT_TRUE(shared.call(get_request("/together")).has_value());
      for (int round = 0; round < 20; ++round) {
        const std::string path = "/" + std::to_string(i) + "/" + std::to_string(round);
        const auto response = shared.call(get_request(path));
        ASSERT_TRUE(response.has_value());
        EXPECT_EQ(response->body, "GET " + path);
      }
    });
  }
  threads.clear();
  EXPECT_EQ(server->connections(), kCalls);
}

}  // namespace
}  // namespace tangram::kube
