#include "tests/shim/nvml/nvml_fixture.hpp"

namespace tangram::shim::testing {
namespace {

using NvmlDriverTest = NvmlTest;

TEST_F(NvmlDriverTest, AnswersWhatIsNotIntercepted) {
  std::array<char, 96> name{};
  const auto get_name = function<int(void*, char*, unsigned)>("nvmlDeviceGetName");
  ASSERT_EQ(get_name(handle_of(kCard), name.data(), name.size()), fake_nvml::SUCCESS);
  EXPECT_STREQ(name.data(), "NVIDIA A100-SXM4-80GB");
  EXPECT_STREQ(function<const char*(int)>("nvmlErrorString")(15), "GPU is lost");
}

TEST_F(NvmlDriverTest, LacksAFunctionThatTheDriverLacks) {
  unsigned speed = 0;
  EXPECT_EQ(function<int(void*, unsigned*)>("nvmlDeviceGetPcieSpeed")(handle_of(kCard), &speed),
            fake_nvml::ERROR_FUNCTION_NOT_FOUND);
}

/// In a program of its own, because the driver's library stays loaded.
[[noreturn]] void call_without_a_driver(const std::string& folder) {
  std::filesystem::current_path(folder);
  constexpr int kLibraryNotFound = 12;
  const bool is_right = function<int()>("nvmlInit_v2")() == kLibraryNotFound &&
                        std::string(function<const char*(int)>("nvmlErrorString")(kLibraryNotFound))
                                .find("cannot be loaded") != std::string::npos;
  _exit(is_right ? 0 : 1);
}

TEST(NvmlDriverDeathTest, SaysOnceThatTheDriversLibraryIsMissing) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const ::tangram::testing::TempFolder empty;
  EXPECT_EXIT(call_without_a_driver(empty.path()), ::testing::ExitedWithCode(0),
              "^tangram: cannot load the driver's own library: tangram/driver/[^\n]*\n$");
}

}  // namespace
}  // namespace tangram::shim::testing
