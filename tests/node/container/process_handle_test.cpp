#include "node/container/process_handle.hpp"

#include "tests/testing/child_process.hpp"

#include <gtest/gtest.h>

namespace tangram::node {
namespace {

TEST(ProcessHandleTest, KillsItsProcess) {
  testing::ChildProcess child;
  const auto handle = ProcessHandle::open(child.pid());
  ASSERT_TRUE(handle) << handle.error().message;
  EXPECT_TRUE(handle->kill());
  EXPECT_TRUE(child.was_killed());
}

TEST(ProcessHandleTest, OfAProcessThatIsGoneThereIsNone) {
  testing::ChildProcess child;
  child.end();
  EXPECT_EQ(ProcessHandle::open(child.pid()).error().code, Errc::kNotFound);
}

TEST(ProcessHandleTest, AProcessThatHasEndedIsNotKilled) {
  testing::ChildProcess child;
  const auto handle = ProcessHandle::open(child.pid());
  ASSERT_TRUE(handle);
  child.end();
  EXPECT_EQ(handle->kill().error().code, Errc::kNotFound);
}

}  // namespace
}  // namespace tangram::node
