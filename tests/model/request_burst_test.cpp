// Limits are at most so many times the request as the cluster allows.

#include "model/request.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tangram::model {
namespace {

const std::vector<ContainerInfo> kMain{{.name = "main"}};

#define FULL "tangram.dev/"

struct BurstCase {
  std::string name;
  Annotations annotations;
  int max_burst = 4;
  std::string error = "";  ///< empty = accepted
};

class BurstTest : public ::testing::TestWithParam<BurstCase> {};

TEST_P(BurstTest, LimitsAreAtMostSoManyTimesTheRequest) {
  const auto request =
      parse_request(GetParam().annotations, kMain, {.max_burst = GetParam().max_burst});
  EXPECT_EQ(request ? "" : request.error().message, GetParam().error);
  if (request) {
    EXPECT_EQ(request->containers.front().share.max_burst, GetParam().max_burst);
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, BurstTest,
    ::testing::Values(
        BurstCase{"MemoryAtTheMost", {{"gpu-mem", "1Gi"}, {"gpu-mem-limit", "4Gi"}}},
        BurstCase{"MemoryAboveIt",
                  {{"gpu-mem", "1Mi"}, {"gpu-mem-limit", "80Gi"}},
                  4,
                  FULL "gpu-mem-limit: \"80Gi\" is more than 4 times the request, the most that "
                       "this cluster allows; write at most 4Mi"},
        BurstCase{"ComputeAtTheMost",
                  {{"gpu-mem", "1Gi"}, {"gpu-compute", "0.2"}, {"gpu-compute-limit", "0.8"}}},
        BurstCase{"ComputeAboveIt",
                  {{"gpu-mem", "1Gi"}, {"gpu-compute", "0.2"}, {"gpu-compute-limit", "0.801"}},
                  4,
                  FULL "gpu-compute-limit: \"0.801\" is more than 4 times the request, the most "
                       "that this cluster allows; write at most 0.8"},
        BurstCase{"OfAFraction",
                  {{"gpu-fraction", "0.1"}, {"gpu-compute-limit", "1"}},
                  4,
                  FULL "gpu-compute-limit: \"1\" is more than 4 times the request, the most that "
                       "this cluster allows; write at most 0.4"},
        BurstCase{"NoneAllowed",
                  {{"gpu-mem", "1Gi"}, {"gpu-mem-limit", "1025Mi"}},
                  1,
                  FULL "gpu-mem-limit: \"1025Mi\" is more than 1 times the request, the most that "
                       "this cluster allows; write at most 1024Mi"},
        BurstCase{"TheRequestItselfWhereNoneIsAllowed",
                  {{"gpu-mem", "1Gi"}, {"gpu-mem-limit", "1Gi"}},
                  1},
        BurstCase{"BestEffort",
                  {{"gpu-mem", "1Gi"}, {"gpu-compute", "0"}},
                  4,
                  FULL "gpu-compute: \"0\" uses all that others leave, and this cluster allows at "
                       "most 4 times the request; write a number above 0, such as \"0.1\""},
        BurstCase{"BestEffortWithALimit",
                  {{"gpu-mem", "1Gi"}, {"gpu-compute", "0"}, {"gpu-compute-limit", "0.5"}},
                  4,
                  FULL "gpu-compute: \"0\" uses all that others leave, and this cluster allows at "
                       "most 4 times the request; write a number above 0, such as \"0.1\""},
        BurstCase{"WhatDependsOnTheCard", {{"gpu-fraction", "0.1"}, {"gpu-mem-limit", "80Gi"}}},
        BurstCase{"ComputeInProportion", {{"gpu-mem", "1Gi"}, {"gpu-compute-limit", "1"}}},
        BurstCase{"WholeCards", {{"gpu-count", "2"}}},
        BurstCase{"AnyWithoutTheRule",
                  {{"gpu-mem", "1Mi"}, {"gpu-mem-limit", "80Gi"}, {"gpu-compute", "0"}},
                  0}),
    [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace tangram::model
