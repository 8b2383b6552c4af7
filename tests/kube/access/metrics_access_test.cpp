#include "kube/access/metrics_access.hpp"

#include "kube/local/api.hpp"
#include "tests/testing/manual_clock.hpp"
#include "tests/testing/reviewing_api.hpp"

#include <gtest/gtest.h>

#include <future>
#include <string>

namespace tangram::kube {
namespace {

class MetricsAccessTest : public ::testing::Test {
 protected:
  /// The status of the answer to a client of one network.
  int get(const std::string& path, const std::string& token, const std::string& address) {
    std::promise<int> status;
    http::Request request;
    request.method = "GET";
    request.path = path;
    request.headers.push_back({"Authorization", "Bearer " + token});
    request.origin = "2001:db8:0:1::/64";
    request.address = address;
    page_(std::move(request), http::Responder([&](const http::Response& response) {
            status.set_value(response.status);
          }));
    return status.get_future().get();
  }

  testing::ManualClock clock_;
  LocalApi cluster_{clock_};
  testing::ReviewingApi api_{cluster_};
  MetricsAccess access_{api_, clock_};
  http::Handler page_ = access_.guarded([](const http::Request&, http::Responder responder) {
    responder.send(http::text_response(200, "up 1"));
  });
};

TEST_F(MetricsAccessTest, AnotherAddressOfTheNetworkTakesNothingOfAKnownOne) {
  ASSERT_EQ(get("/metrics", "reader", "2001:db8:0:1::1"), 200);
  for (int i = 0; i < TokenReviews::kBurst; ++i) {
    (void)get("/metrics", "forged", "2001:db8:0:1::2");
  }
  ASSERT_EQ(get("/metrics", "forged", "2001:db8:0:1::2"), 503);
  EXPECT_EQ(get("/metrics/cards", "reader", "2001:db8:0:1::1"), 200);
}

}  // namespace
}  // namespace tangram::kube
