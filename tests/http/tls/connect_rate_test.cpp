// How many connections a second the server takes from one address.

#include "http/connect_rate.hpp"

#include "tests/http/tls/fixture.hpp"
#include "tests/testing/log_probe.hpp"
#include "tests/testing/tls_line.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace tangram::http {
namespace {

using testing::TlsLine;
using namespace std::chrono_literals;

constexpr int kBurst = 3;

class TlsConnectRateTest : public ::testing::Test {
 protected:
  TlsConnectRateTest() {
    auto options = tls_options(files_.load(clock_));
    options.connects_per_second = 10;
    options.connects_burst = kBurst;
    options.clock = &clock_;
    server_ = serve(echo, std::move(options));
  }
  /// Whether an unauthenticated client from that address of this machine gets as far as a
  /// handshake.
  bool is_met(const std::string& from) {
    return TlsLine(server_->port(), {.from = from}).shake_hands();
  }
  void expect_met(int times, const std::string& from) {
    for (int i = 0; i < times; ++i) EXPECT_TRUE(is_met(from)) << from << ", " << i;
    EXPECT_FALSE(is_met(from)) << from;
  }

  testing::LogProbe log_{"127.0.0.2 got no connection: it opens more than 10 a second"};
  HalfManualClock clock_;
  extender::Authority ca_ = make_authority();
  TlsFiles files_{server_of(ca_), ca_.own().certificate};
  std::unique_ptr<Server> server_;
};

TEST_F(TlsConnectRateTest, EndsOneTooManyBeforeTheHandshake) {
  expect_met(kBurst, "127.0.0.2");
  clock_.advance(100ms);
  expect_met(1, "127.0.0.2");
  const auto counters = server_->counters();
  EXPECT_EQ(counters.too_fast, 2U);
  EXPECT_EQ(counters.accepted, kBurst + 3U);
  EXPECT_EQ(counters.rejected, 0U);
  log_.wait();
}

TEST_F(TlsConnectRateTest, HoldsUpNobodyElse) {
  expect_met(kBurst, "127.0.0.2");
  expect_met(kBurst, "127.0.0.3");
}

TEST_F(TlsConnectRateTest, HoldsUpNoVerifiedClientThatOpensManyConnections) {
  const auto certificate = client_of(ca_, "system:kube-scheduler");
  for (int i = 0; i < 5 * kBurst; ++i) {
    auto scheduler = tls_client(ca_, certificate);
    ASSERT_EQ(connect_error(scheduler, server_->port()), "") << i;
  }
  clock_.advance(ConnectRate::kVouchedFor);
  expect_met(kBurst, "127.0.0.1");
}

TEST_F(TlsConnectRateTest, IsNotForOpenConnections) {
  auto client = tls_client(ca_);
  ASSERT_EQ(connect_error(client, server_->port()), "");
  expect_met(kBurst - 1, "127.0.0.1");
  EXPECT_EQ(reply_of(client.request("GET", "/")).status, 200);
}

}  // namespace
}  // namespace tangram::http
