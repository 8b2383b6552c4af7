#include "extender/admission/aggregates.hpp"

#include <gtest/gtest.h>

#include <ostream>

namespace tangram::extender {

static void PrintTo(const Aggregates& aggregates, std::ostream* out) {
  *out << aggregates.milli << " milli, " << aggregates.mebibytes << " MiB";
}

namespace {

struct Row {
  const char* name;
  model::Annotations annotations;
  Aggregates counted;
};

void PrintTo(const Row& row, std::ostream* out) { *out << row.name; }

class AggregatesTest : public ::testing::TestWithParam<Row> {};

TEST_P(AggregatesTest, CountWhatIsKnown) {
  const Row& row = GetParam();
  const auto request = model::parse_request(row.annotations, {{.name = "main"}},
                                            {.default_isolation = model::Isolation::kTimeSlice});
  ASSERT_TRUE(request) << request.error().message;
  EXPECT_EQ(aggregates_of(request->containers.at(0)), row.counted);
}

INSTANTIATE_TEST_SUITE_P(
    Forms, AggregatesTest,
    ::testing::Values(
        Row{"Fraction", {{"gpu-fraction", "0.25"}}, {250, 0}},
        Row{"FractionOfFourCards", {{"gpu-fraction", "0.25"}, {"gpu-count", "4"}}, {1000, 0}},
        Row{"WholeByFraction", {{"gpu-fraction", "1"}}, {1000, 0}},
        Row{"Memory", {{"gpu-mem", "8Gi"}}, {0, 8192}},
        Row{"MemoryRoundsUp", {{"gpu-mem", "1048577"}}, {0, 2}},
        Row{"MemoryOfTwoCards", {{"gpu-mem", "8Gi"}, {"gpu-count", "2"}}, {0, 16'384}},
        Row{"MemoryAndCompute", {{"gpu-mem", "8Gi"}, {"gpu-compute", "0.3"}}, {300, 8192}},
        Row{"MemoryAndComputeOfTwoCards",
            {{"gpu-mem", "8Gi"}, {"gpu-compute", "0.3"}, {"gpu-count", "2"}},
            {600, 16'384}},
        Row{"BestEffort", {{"gpu-mem", "8Gi"}, {"gpu-compute", "0"}}, {0, 8192}},
        Row{"WholeCards", {{"gpu-count", "2"}}, {2000, 0}},
        Row{"LimitsDoNotCount",
            {{"gpu-mem", "8Gi"}, {"gpu-mem-limit", "16Gi"}, {"gpu-compute-limit", "1"}},
            {0, 8192}}),
    [](const auto& row) { return row.param.name; });

TEST(AggregatesTest, BecomeResourcesWhereTheyAreNotZero) {
  EXPECT_EQ(to_resources({300, 8192}), (kube::StringMap{{"tangram.dev/gpu-mem-mib", "8192"},
                                                        {"tangram.dev/gpu-milli", "300"}}));
  EXPECT_EQ(to_resources({0, 8192}), (kube::StringMap{{"tangram.dev/gpu-mem-mib", "8192"}}));
  EXPECT_EQ(to_resources({}), kube::StringMap{});
}

}  // namespace
}  // namespace tangram::extender
