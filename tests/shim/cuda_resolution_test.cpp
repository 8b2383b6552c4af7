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
                         ::testing::Values("plain", "deepbind", "unversioned", "namespace",
                                           "constructor", "without-files"),
                         [](const auto& param) {
                           std::string name = param.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace tangram::shim
