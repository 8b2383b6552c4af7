#include "http/host_guard.hpp"

#include "tests/http/fixture.hpp"

#include <gtest/gtest.h>

namespace tangram::http {
namespace {

struct HostCase {
  std::string name;
  std::string host;
  bool want = false;

  friend void PrintTo(const HostCase& c, std::ostream* out) { *out << c.name; }
};

class HostTest : public ::testing::TestWithParam<HostCase> {};

TEST_P(HostTest, IsThisMachinesOrAnothers) {
  EXPECT_EQ(names_no_other(GetParam().host), GetParam().want) << GetParam().host;
}

INSTANTIATE_TEST_SUITE_P(Table, HostTest,
                         ::testing::ValuesIn(std::vector<HostCase>{
                             {"None", "", true},
                             {"Localhost", "localhost", true},
                             {"PortForward", "localhost:9898", true},
                             {"AnyCase", "LocalHost:9898", true},
                             {"BelowLocalhost", "tangram.localhost:9898", true},
                             {"FromTheRoot", "localhost.:9898", true},
                             {"Ipv4", "127.0.0.1:9898", true},
                             {"Ipv4OfAPod", "10.1.2.3", true},
                             {"Ipv6", "[::1]:9898", true},
                             {"Ipv6WithoutPort", "[fd00::1]", true},
                             {"AnotherName", "evil.example:9898"},
                             {"EndsAlike", "evillocalhost"},
                             {"BeginsAlike", "localhost.evil.example"},
                             {"BeginsAsAnAddress", "127.0.0.1.evil.example"},
                             {"NameInBrackets", "[evil.example]"},
                             {"OnlyAPort", ":9898"},
                             {"OnlyADot", "."},
                         }),
                         [](const auto& test) { return test.param.name; });

class HostGuardTest : public ::testing::Test {
 protected:
  HostGuardTest() {
    auto options = local_options();
    options.gate = local_pages_by_name({"gpu.example.com"});
    server_ = serve(echo, std::move(options));
  }
  Reply ask(const std::string& method, const std::string& host) {
    auto client = client_of(*server_);
    EXPECT_TRUE(client.send(method + " /api/v1/cluster HTTP/1.1\r\nHost: " + host +
                            "\r\nContent-Length: 0\r\n\r\n"));
    return reply_of(client.receive(method == "HEAD"));
  }

  std::unique_ptr<Server> server_;
};

TEST_F(HostGuardTest, ShowsNothingToPagesThatCallTheServerByTheirOwnName) {
  const auto refused = ask("GET", "evil.example:9898");
  EXPECT_EQ(refused.status, 421);
  EXPECT_NE(refused.body.find("\"evil.example\" is not known"), std::string::npos) << refused.body;
  EXPECT_NE(refused.body.find("server.host_names"), std::string::npos) << refused.body;
  EXPECT_EQ(ask("HEAD", "evil.example").status, 421);
  EXPECT_EQ(server_->counters().requests, 0U);
}

TEST_F(HostGuardTest, AnswersToItsOwnNames) {
  for (const char* host :
       {"localhost:9898", "127.0.0.1", "gpu.example.com", "GPU.example.com:80"}) {
    EXPECT_EQ(ask("GET", host).status, 200) << host;
  }
}

TEST_F(HostGuardTest, LetsVerbsPassByAnyName) {
  EXPECT_EQ(ask("POST", "tangram-extender.tangram-system.svc").status, 200);
}

TEST(HostGuardGateTest, IsForWhatComesFromThisMachine) {
  const auto gate = local_pages_by_name({});
  const Head from_afar{.method = "GET", .target = "/", .host = "tangram.example.com"};
  EXPECT_FALSE(gate(from_afar));
  EXPECT_TRUE(gate({.method = "GET", .target = "/", .host = "tangram.example.com", .local = true}));
}

}  // namespace
}  // namespace tangram::http
