#include "node/hook/limit_memory.hpp"

#include <gtest/gtest.h>

#include <map>

namespace tangram::node::hook {
namespace {

using namespace tangram::literals;

/// Holds what is set, and records it in order.
class FakeLimiter final : public MemoryLimiter {
 public:
  Result<void> check(const std::string& /*cgroup*/, const std::string& card) override {
    if (card == missing) return fail(Errc::kNotFound, "no card " + card);
    return {};
  }
  Result<void> set(const std::string& cgroup, const MemoryLimit& limit) override {
    if (limit.card == broken) return fail(Errc::kUnavailable, "broken " + limit.card);
    calls.push_back(cgroup + " " + limit.card + " " + to_string(limit.amount));
    return {};
  }
  Result<std::uint64_t> read(const std::string& /*cgroup*/, const std::string& card) override {
    return stands.at(card);
  }
  Result<std::uint64_t> in_use(const std::string& /*cgroup*/,
                               const std::string& /*card*/) override {
    return 0U;
  }

  std::string missing;
  std::string broken;
  std::map<std::string, std::uint64_t> stands;
  std::vector<std::string> calls;
};

class LimitMemoryTest : public ::testing::Test {
 protected:
  [[nodiscard]] std::string failure() {
    const auto done = limit_memory("/leaf", {{first_, limits_}, {second_, other_limits_}});
    return done ? "" : done.error().message;
  }

  const std::vector<MemoryLimit> limits_{{.card = "a", .amount = 1_mib},
                                         {.card = "b", .amount = 2_mib}};
  const std::vector<MemoryLimit> other_limits_{{.card = "c", .amount = 3_mib}};
  FakeLimiter first_;
  FakeLimiter second_;

  LimitMemoryTest() {
    first_.stands = {{"a", 1U << 20U}, {"b", 2U << 20U}};
    second_.stands = {{"c", 3U << 20U}};
  }
};

TEST_F(LimitMemoryTest, SetsEachCardsOwnLimit) {
  EXPECT_EQ(failure(), "");
  EXPECT_EQ(first_.calls, (std::vector<std::string>{"/leaf a 1MiB", "/leaf b 2MiB"}));
  EXPECT_EQ(second_.calls, (std::vector<std::string>{"/leaf c 3MiB"}));
}

TEST_F(LimitMemoryTest, SetsNothingIfACardIsMissing) {
  second_.missing = "c";
  EXPECT_EQ(failure(), "no card c");
  EXPECT_TRUE(first_.calls.empty());
}

TEST_F(LimitMemoryTest, StopsAtTheFirstFailure) {
  first_.broken = "b";
  EXPECT_EQ(failure(), "broken b");
  EXPECT_EQ(first_.calls, (std::vector<std::string>{"/leaf a 1MiB"}));
  EXPECT_TRUE(second_.calls.empty());
}

TEST_F(LimitMemoryTest, FailsWhereAnotherLimitStands) {
  // A byte more is memory of another container; a byte less is not what was granted.
  for (const std::uint64_t stands : {(1U << 20U) + 1U, (1U << 20U) - 1U}) {
    first_.stands["a"] = stands;
    const std::string message = failure();
    EXPECT_NE(message.find("a: a limit of 1048576 bytes was set"), std::string::npos) << message;
    EXPECT_NE(message.find(std::to_string(stands) + " bytes is in force"), std::string::npos)
        << message;
  }
  first_.stands["a"] = kNoLimit;
  EXPECT_NE(failure().find("and none is in force"), std::string::npos);
  EXPECT_TRUE(second_.calls.empty());
}

}  // namespace
}  // namespace tangram::node::hook
