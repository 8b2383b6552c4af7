#include "bench/replay/churn.hpp"

#include "bench/replay/inprocess.hpp"

#include <gtest/gtest.h>

namespace tangram::bench {
namespace {

Trace one_device() {
  Trace trace;
  trace.nodes.push_back(
      {.name = "n0", .cpu_milli = 8'000, .memory_mib = 8'192, .gpus = 1, .model = "T4"});
  return trace;
}

TracePod whole(const std::string& name, std::int64_t arrives_s, std::int64_t lasts_s) {
  TracePod pod;
  pod.name = name;
  pod.cpu_milli = 1'000;
  pod.gpus = 1;
  pod.gpu_milli = 1'000;
  pod.arrives_s = arrives_s;
  pod.lasts_s = lasts_s;
  return pod;
}

TracePod half(const std::string& name) {
  TracePod pod;
  pod.name = name;
  pod.gpus = 1;
  pod.gpu_milli = 500;
  return pod;
}

std::unique_ptr<InProcessScheduler> placer_for(const Trace& trace) {
  return *InProcessScheduler::create(trace.nodes, "least-waste", {});
}

/// Leaves every pod out.
class RefusingScheduler final : public Scheduler {
 public:
  Result<std::optional<Placed>> place(std::size_t /*arrival*/, const TracePod& /*pod*/,
                                      const std::vector<std::size_t>& /*feasible*/) override {
    return std::optional<Placed>{};
  }
  Result<void> remove(std::size_t /*arrival*/) override { return {}; }
};

TEST(ChurnTest, APodThatFitsNowhereWaitsUntilAnotherLeaves) {
  Trace trace = one_device();
  trace.arrivals = {whole("first", 0, 20), whole("second", 4, 100), whole("third", 40, 1)};
  const auto scheduler = placer_for(trace);
  const auto outcome = churn(trace, lifetimes_of(trace, {}), *scheduler);
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_FALSE(outcome->violation) << *outcome->violation;
  EXPECT_EQ(outcome->placed, 2U);
  EXPECT_EQ(outcome->never_placed, 1U);
  EXPECT_DOUBLE_EQ(outcome->mean_wait_s, 8);            // 0 and 16
  EXPECT_DOUBLE_EQ(outcome->allocated_percent, 100);    // from second 10 to 40
  EXPECT_NEAR(outcome->waiting_pods, 10.0 / 30, 1e-9);  // one, from 10 to 20
}

TEST(ChurnTest, RefusingAPodThatFitsBreaksTheRules) {
  Trace trace = one_device();
  trace.arrivals = {whole("first", 0, 20)};
  RefusingScheduler scheduler;
  const auto outcome = churn(trace, lifetimes_of(trace, {}), scheduler);
  ASSERT_TRUE(outcome);
  ASSERT_TRUE(outcome->violation);
  EXPECT_NE(outcome->violation->find("fits node n0"), std::string::npos);
}

TEST(ChurnTest, AsksForTheLoadThatWasWished) {
  Trace trace = one_device();
  trace.arrivals = {half("a"), half("b")};
  const auto lifetimes = lifetimes_of(trace, {.load_percent = 80, .pods = 200'000, .seed = 5});
  ASSERT_EQ(lifetimes.size(), 200'000U);
  double requested = 0;
  for (const PodLifetime& lifetime : lifetimes)
    requested += 0.5 * static_cast<double>(lifetime.lasts);
  EXPECT_NEAR(requested / static_cast<double>(lifetimes.back().arrives), 0.8, 0.01);
}

TEST(ChurnTest, EqualSeedsGiveEqualStays) {
  Trace trace = one_device();
  trace.arrivals = {half("a"), half("b")};
  const auto once = lifetimes_of(trace, {.seed = 3});
  const auto again = lifetimes_of(trace, {.seed = 3});
  const auto other = lifetimes_of(trace, {.seed = 4});
  ASSERT_EQ(once.size(), 8U);
  EXPECT_EQ(once[5].arrives, again[5].arrives);
  EXPECT_EQ(once[5].lasts, again[5].lasts);
  EXPECT_NE(once[5].arrives, other[5].arrives);
}

TEST(ChurnTest, ReportsInTextAndJson) {
  Trace trace = one_device();
  trace.arrivals = {whole("first", 0, 20), whole("second", 4, 100), whole("third", 40, 1)};
  const auto scheduler = placer_for(trace);
  const auto outcome = churn(trace, lifetimes_of(trace, {}), *scheduler);
  ASSERT_TRUE(outcome);
  EXPECT_NE(churn_text(*outcome).find("allocated   100.00 % of GPU time"), std::string::npos);
  EXPECT_NE(churn_json(*outcome).find("\"mean_wait_seconds\":8.00"), std::string::npos);
}

}  // namespace
}  // namespace tangram::bench
