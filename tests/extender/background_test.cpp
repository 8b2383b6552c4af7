#include "extender/background.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <future>

namespace tangram::extender {
namespace {

/// Of the calling thread.
int niceness() { return getpriority(PRIO_PROCESS, 0); }

int niceness_of_a_task(bool yields) {
  std::promise<int> seen;
  Background background;
  background.start({{.name = "test",
                     .run = [&](const std::stop_token& /*stop*/) { seen.set_value(niceness()); },
                     .yields = yields}});
  return seen.get_future().get();
}

TEST(BackgroundTest, ATaskThatYieldsGivesWayAndNoOther) {
  const int before = niceness();
  EXPECT_EQ(niceness_of_a_task(false), before);
  EXPECT_EQ(niceness_of_a_task(true), std::max(before, 10));
  EXPECT_EQ(niceness(), before);
}

}  // namespace
}  // namespace tangram::extender
