#include "bench/measure/latency.hpp"

#include <gtest/gtest.h>

namespace tangram::bench {
namespace {

using std::chrono::nanoseconds;

Latencies one_to(int last) {
  Latencies latencies;
  for (int i = last; i > 0; --i) latencies.add(nanoseconds(i * 1000));
  return latencies;
}

TEST(LatenciesTest, APercentileIsATimeThatWasTaken) {
  EXPECT_EQ(one_to(100).percentile(50), nanoseconds(50'000));
  EXPECT_EQ(one_to(100).percentile(99), nanoseconds(99'000));
  EXPECT_EQ(one_to(3).percentile(50), nanoseconds(2'000));  // the 2nd of 3: ceil(1.5)
  EXPECT_EQ(one_to(1).percentile(99), nanoseconds(1'000));
}

TEST(LatenciesTest, NothingTakenIsZero) { EXPECT_EQ(Latencies().percentile(50), nanoseconds(0)); }

TEST(LatencyReportTest, NamesEachVerbWithItsRatioToTheNullHandler) {
  const std::vector<VerbTimes> verbs{{.verb = "filter", .real = one_to(100), .null = one_to(50)}};
  EXPECT_NE(latency_table(verbs).find("filter            100      50.0      25.0    2.00"),
            std::string::npos)
      << latency_table(verbs);
  EXPECT_NE(latency_json(verbs).find("\"p50_ratio\":2.0"), std::string::npos)
      << latency_json(verbs);
}

TEST(VerbTimesTest, PairsEachRequestWithTheNullHandlersOfTheSame) {
  VerbTimes times{.verb = "filter", .real = {}, .null = {}};
  EXPECT_EQ(times.paired_ratio(), 0);
  for (const auto& [real, null] : {std::pair{30, 10}, {30, 20}, {1'000, 1'000}}) {
    times.real.add(nanoseconds(real));
    times.null.add(nanoseconds(null));
  }
  EXPECT_EQ(times.paired_ratio(), 1.5);
}

TEST(DriftTest, ComparesTheMediansOfTheLastAndTheFirstThird) {
  EXPECT_EQ(drift({}), 0);
  EXPECT_EQ(drift({0, 5}), 0);
  EXPECT_EQ(drift({7}), 1);
  EXPECT_EQ(drift({2, 6}), 3);
  // 90 is not the median of its third, and the middle one does not count.
  EXPECT_EQ(drift({90, 4, 3, 1'000, 1'000, 1'000, 8, 2, 10}), 2);
}

}  // namespace
}  // namespace tangram::bench
