#include "base/environment.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

namespace tangram {
namespace {

TEST(EnvironmentTest, ReadsAVariableAndTakesAMissingOneForEmpty) {
  ASSERT_EQ(setenv("TANGRAM_TEST_VARIABLE", "value", 1), 0);
  EXPECT_EQ(process_environment("TANGRAM_TEST_VARIABLE"), "value");
  ASSERT_EQ(unsetenv("TANGRAM_TEST_VARIABLE"), 0);
  EXPECT_EQ(process_environment("TANGRAM_TEST_VARIABLE"), "");
}

}  // namespace
}  // namespace tangram
