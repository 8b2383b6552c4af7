// Whichever way a program loads the driver, and asks for its functions.
#include "tests/shim/stand_in_rig.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace tangram::shim {
namespace {

constexpr int kOutOfMemory = 2;

class CudaLoadingTest : public ::testing::TestWithParam<const char*> {};

TEST_P(CudaLoadingTest, TheLimitHolds) {
  StandInRig rig({{.limit = 100 * kMiB}});
  Client client(rig, GetParam(), {"LD_PRELOAD=", "CUDA_VISIBLE_DEVICES="});
  ASSERT_EQ(client.run("init").result, 0) << client.errors();
  EXPECT_EQ(client.run("alloc " + std::to_string(101 * kMiB)).result, kOutOfMemory);
  EXPECT_EQ(client.run("alloc " + std::to_string(100 * kMiB)).result, 0);
  EXPECT_EQ(client.run("info").values, (std::vector<std::uint64_t>{0, 100 * kMiB}));
}

INSTANTIATE_TEST_SUITE_P(All, CudaLoadingTest,
                         ::testing::Values("plain", "global", "next", "by-name", "deepbind",
                                           "unversioned", "namespace", "constructor",
                                           "without-files"),
                         [](const auto& param) {
                           std::string name = param.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

class CudaResolutionTest : public ::testing::Test {
 protected:
  CudaResolutionTest() : rig_({{.limit = 100 * kMiB}}) {}
  void expect_the_limit(const std::vector<std::string>& variables) {
    Client client(rig_, "plain", variables);
    ASSERT_EQ(client.run("init").result, 0) << client.errors();
    EXPECT_EQ(client.run("total 0").value(), 100 * kMiB);
    EXPECT_EQ(client.run("alloc " + std::to_string(101 * kMiB)).result, kOutOfMemory);
  }
  StandInRig rig_;
};

TEST_F(CudaResolutionTest, NoVariableChangesTheLimit) {
  expect_the_limit({"TANGRAM_MEMORY_LIMIT_BYTES=4294967296", "TANGRAM_MEMORY_LIMITS=none",
                    "TANGRAM_SHIM_ROOT=/nowhere", "TANGRAM_DISABLE=1", "CUDA_DISABLE_CONTROL=true",
                    "CUDA_DEVICE_MEMORY_LIMIT=4g", "CUDA_DEVICE_MEMORY_LIMIT_0=4g"});
}

TEST_F(CudaResolutionTest, PreloadedAsWellItCallsTheDriverAndNotItself) {
  expect_the_limit({"LD_PRELOAD=" + rig_.path() + "/lib/libcuda.so.1"});
}

TEST_F(CudaResolutionTest, EveryLookupIsAnsweredAsByTheDriver) {
  Client client(rig_);
  ASSERT_EQ(client.run("init").result, 0);
  const auto done = client.run("compare-lookups");
  ASSERT_EQ(done.values.size(), 3U);
  EXPECT_GT(done.values[0], 10'000U) << "lookups";
  EXPECT_EQ(done.values[1], 0U) << "other results, states, or functions of the driver's";
  EXPECT_GT(done.values[2], 100U) << "functions of the stand-in";
}

TEST_F(CudaResolutionTest, LookupsWithoutAPlaceForTheAnswerAreTheDriversMatter) {
  Client client(rig_);
  const auto results = client.run("lookups-of-nothing").values;
  EXPECT_EQ(results, (std::vector<std::uint64_t>{1, 1, 1, 1, 500, 0}));
}

TEST_F(CudaResolutionTest, WhatIsNotLimitedIsAnsweredByTheDriver) {
  constexpr std::uint64_t kNotSupported = 801;  // as this driver says
  Client client(rig_);
  ASSERT_EQ(client.run("init").result, 0);
  const auto results = client.run("forwarded-by-name").values;
  EXPECT_EQ(results, (std::vector<std::uint64_t>(5, kNotSupported)));
}

}  // namespace
}  // namespace tangram::shim
