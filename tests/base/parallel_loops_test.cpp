#include "base/parallel_loops.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <latch>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace tangram {
namespace {

TEST(ParallelLoopsTest, DoEachTurnOnce) {
  ParallelLoops loops(3);
  for (const std::size_t turns : {0U, 1U, 2U, 7U, 1000U}) {
    std::vector<std::atomic<int>> done(turns);
    loops.run(turns, 3, [&](std::size_t turn, std::size_t /*worker*/) { ++done[turn]; });
    EXPECT_TRUE(std::ranges::all_of(done, [](const auto& times) { return times == 1; })) << turns;
  }
}

TEST(ParallelLoopsTest, RunOnTheCallersThreadWithoutHelpers) {
  ParallelLoops none(0);
  ParallelLoops some(2);
  const auto caller = std::this_thread::get_id();
  const auto body = [&](std::size_t /*turn*/, std::size_t worker) {
    EXPECT_EQ(worker, 0U);
    EXPECT_EQ(std::this_thread::get_id(), caller);
  };
  none.run(5, 9, body);
  some.run(5, 0, body);
}

TEST(ParallelLoopsTest, RunAsManyTurnsAtOnceAsThereAreThreads) {
  ParallelLoops loops(2);
  std::latch all_there{3};  // passes only if three turns wait in it at the same time
  std::vector<std::atomic<int>> turns_of(3);
  loops.run(3, 2, [&](std::size_t /*turn*/, std::size_t worker) {
    ++turns_of[worker];
    all_there.arrive_and_wait();
  });
  EXPECT_TRUE(std::ranges::all_of(turns_of, [](const auto& turns) { return turns == 1; }));
}

TEST(ParallelLoopsTest, DoNotWaitForHelpersThatOthersKeepBusy) {
  ParallelLoops loops(1);
  std::latch both_there{3};
  std::latch go{1};
  auto slow = std::async(std::launch::async, [&] {
    loops.run(2, 1, [&](std::size_t /*turn*/, std::size_t /*worker*/) {
      both_there.count_down();
      go.wait();
    });
  });
  both_there.arrive_and_wait();
  std::size_t done = 0;
  loops.run(10, 1, [&](std::size_t /*turn*/, std::size_t /*worker*/) { ++done; });
  EXPECT_EQ(done, 10U);
  go.count_down();
  slow.get();
}

TEST(ParallelLoopsTest, ThrowWhatATurnThrewAfterAllAreDone) {
  ParallelLoops loops(2);
  std::atomic<int> done = 0;
  const auto body = [&](std::size_t turn, std::size_t /*worker*/) {
    ++done;
    if (turn == 3) throw std::runtime_error("turn 3");
  };
  EXPECT_THROW(loops.run(100, 2, body), std::runtime_error);
  EXPECT_EQ(done, 100);
  done = 0;
  loops.run(3, 2, body);
  EXPECT_EQ(done, 3) << "the helpers are still there";
}

TEST(ParallelLoopsTest, ServeManyCallersAtATime) {
  ParallelLoops loops(3);
  std::vector<std::jthread> callers;
  std::atomic<std::size_t> sum = 0;
  for (int caller = 0; caller < 4; ++caller) {
    callers.emplace_back([&] {
      for (int round = 0; round < 200; ++round) {
        std::vector<std::size_t> own(4);  // by worker, without a lock
        loops.run(20, 3, [&](std::size_t turn, std::size_t worker) { own[worker] += turn; });
        for (const std::size_t part : own) sum += part;
      }
    });
  }
  callers.clear();
  EXPECT_EQ(sum, std::size_t{4} * 200 * 190);
}

}  // namespace
}  // namespace tangram
