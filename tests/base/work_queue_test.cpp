#include "base/work_queue.hpp"

#include <gtest/gtest.h>

#include <latch>
#include <memory>
#include <stdexcept>

namespace tangram {
namespace {

TEST(WorkQueueTest, RunsEveryTaskItTook) {
  std::atomic<int> done{0};
  WorkQueue queue(4, 100);
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(queue.try_post([&] { ++done; }));
  queue.drain();
  EXPECT_EQ(done, 100);
}

TEST(WorkQueueTest, RefusesMoreThanWorkersAndQueueHold) {
  std::latch go{1};
  std::atomic<int> done{0};
  const auto wait = [&] {
    go.wait();
    ++done;
  };
  WorkQueue queue(2, 3);
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(queue.try_post(wait));
  EXPECT_FALSE(queue.try_post(wait));
  EXPECT_FALSE(queue.try_post(wait));  // a refusal leaves no trace
  go.count_down();
  queue.drain();
  EXPECT_EQ(done, 5);
}

TEST(WorkQueueTest, RunsAsManyTasksAtOnceAsThereAreWorkers) {
  std::latch all_there{3};  // passes only if three tasks wait in it at the same time
  WorkQueue queue(3, 0);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(queue.try_post([&] { all_there.arrive_and_wait(); }));
  queue.drain();
  EXPECT_TRUE(all_there.try_wait());
}

TEST(WorkQueueTest, TakesTasksAgainOnceThereIsRoom) {
  WorkQueue queue(1, 0);
  for (int i = 0; i < 20; ++i) {
    std::latch done{1};
    while (!queue.try_post([&] { done.count_down(); })) std::this_thread::yield();
    done.wait();
  }
  SUCCEED();
}

TEST(WorkQueueTest, TakesNothingOnceItIsDrained) {
  WorkQueue queue(1, 10);
  queue.drain();
  bool ran = false;
  EXPECT_FALSE(queue.try_post([&] { ran = true; }));
  queue.drain();
  EXPECT_FALSE(ran);
}

TEST(WorkQueueTest, SurvivesATaskThatThrows) {
  WorkQueue queue(1, 1);
  std::atomic<int> done{0};
  for (int i = 0; i < 5; ++i) {  // more than it holds: what threw has given its place back
    while (!queue.try_post([] { throw std::runtime_error("thrown by a test"); })) {
      std::this_thread::yield();
    }
  }
  while (!queue.try_post([&] { ++done; })) std::this_thread::yield();
  queue.drain();
  EXPECT_EQ(done, 1);
}

TEST(WorkQueueTest, DropsWhatATaskHoldsWhenItIsDone) {
  auto held = std::make_shared<int>(1);
  const std::weak_ptr<int> watch = held;
  WorkQueue queue(1, 1);
  EXPECT_TRUE(queue.try_post([held = std::move(held)] { EXPECT_EQ(*held, 1); }));
  queue.drain();
  EXPECT_TRUE(watch.expired());
}

}  // namespace
}  // namespace tangram
