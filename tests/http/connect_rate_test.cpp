#include "http/connect_rate.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <vector>

namespace tangram::http {
namespace {

using namespace std::chrono_literals;

constexpr TimePoint kStart{};

/// Takes what the bucket holds, and no more than any of these tests puts into it.
int drain(ConnectRate& rate, std::string_view origin, TimePoint now) {
  int taken = 0;
  while (taken < 100 && rate.admit(origin, now)) ++taken;
  return taken;
}

TEST(HttpConnectRateTest, GivesABurstAtOnceThenSoManyASecond) {
  ConnectRate rate(20, 5);
  EXPECT_EQ(drain(rate, "a", kStart), 5);
  EXPECT_FALSE(rate.admit("a", kStart + 49ms));
  EXPECT_TRUE(rate.admit("a", kStart + 50ms));
  EXPECT_EQ(drain(rate, "a", kStart + 200ms), 3);
  EXPECT_EQ(drain(rate, "a", kStart + 1h), 5);  // not beyond its size
}

TEST(HttpConnectRateTest, CountsWhatItRefused) {
  ConnectRate rate(1, 1);
  drain(rate, "a", kStart);
  drain(rate, "b", kStart);
  EXPECT_EQ(rate.refused(), 2U);
}

TEST(HttpConnectRateTest, LetsNobodyUseUpAnothersShare) {
  ConnectRate rate(1, 3);
  drain(rate, "a", kStart);
  EXPECT_EQ(drain(rate, "b", kStart), 3);
}

TEST(HttpConnectRateTest, HasNoLimitWhereNoneIsGiven) {
  ConnectRate rate(0, 0);
  for (int i = 0; i < 10'000; ++i) ASSERT_TRUE(rate.admit("a", kStart));
  EXPECT_EQ(rate.refused(), 0U);
}

TEST(HttpConnectRateTest, LetsAVouchedForOriginOpenAnyNumberForAWhile) {
  ConnectRate rate(1, 3);
  drain(rate, "a", kStart);
  rate.vouch_for("a", kStart);
  const TimePoint late = kStart + ConnectRate::kVouchedFor - 1ms;
  for (int i = 0; i < 1'000; ++i) ASSERT_TRUE(rate.admit("a", late));
  EXPECT_EQ(drain(rate, "a", late + 1ms), 3);
  EXPECT_EQ(drain(rate, "b", kStart), 3);
}

/// The names of so many origins that are not "a".
std::vector<std::string> others(std::size_t count) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < count; ++i) names.push_back("other-" + std::to_string(i));
  return names;
}

TEST(HttpConnectRateTest, RemembersAsManyOriginsAsItSays) {
  ConnectRate rate(1, 1);
  EXPECT_TRUE(rate.admit("a", kStart));
  for (const auto& other : others(ConnectRate::kMostOrigins - 1)) rate.admit(other, kStart);
  EXPECT_FALSE(rate.admit("a", kStart));
}

TEST(HttpConnectRateTest, ForgetsTheOriginThatCameLongestAgo) {
  ConnectRate rate(1, 1);
  rate.admit("a", kStart);
  rate.admit("b", kStart);
  rate.admit("a", kStart);
  for (const auto& other : others(ConnectRate::kMostOrigins - 1)) rate.admit(other, kStart);
  EXPECT_FALSE(rate.admit("a", kStart));
  EXPECT_TRUE(rate.admit("b", kStart));
}

/// What a token bucket means, said by the connections that passed: no span of time that ends now
/// holds more of them than a burst and what came in over that span.
class NaiveRate {
 public:
  NaiveRate(int per_second, int burst)
      : interval_(std::chrono::nanoseconds(1s) / per_second), burst_(burst) {}
  bool admit(TimePoint now) {
    for (std::size_t i = 0; i < passed_.size(); ++i) {
      const auto with_this = static_cast<std::int64_t>(passed_.size() - i + 1);
      if ((with_this - burst_) * interval_ > now - passed_[i]) return false;
    }
    passed_.push_back(now);
    return true;
  }

 private:
  const std::chrono::nanoseconds interval_;
  const std::int64_t burst_;
  std::vector<TimePoint> passed_;
};

TEST(HttpConnectRateTest, AdmitsWhatATokenBucketWould) {
  const auto seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  const auto between = [&](int low, int high) {
    return std::uniform_int_distribution(low, high)(random);
  };
  for (int history = 0; history < 100; ++history) {
    const int per_second = between(1, 40);
    const int burst = between(1, 10);
    ConnectRate rate(per_second, burst);
    std::vector<NaiveRate> naive(3, NaiveRate(per_second, burst));
    TimePoint now = kStart + std::chrono::seconds(between(0, 1'000));
    for (int step = 0; step < 200; ++step) {
      now += std::chrono::milliseconds(between(0, 3) == 0 ? between(0, 500) : 0);
      const auto origin = static_cast<std::size_t>(between(0, 2));
      const bool want = naive[origin].admit(now);
      ASSERT_EQ(rate.admit(std::to_string(origin), now), want)
          << "history " << history << ", step " << step;
    }
  }
}

}  // namespace
}  // namespace tangram::http
