#include "extender/page/broadcast.hpp"
#include "tests/testing/manual_clock.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <semaphore>
#include <string>
#include <thread>
#include <vector>

namespace tangram::extender {
namespace {

/// Reads a stream, waiting as a session does, until it has so many events or ends.
/// @returns their data, one after the other
std::vector<int> read_events(http::BodyStream& stream, std::size_t count) {
  const auto bell = std::make_shared<std::counting_semaphore<>>(0);
  std::vector<int> events;
  while (events.size() < count) {
    const auto step = stream.take_or_wake([bell] { bell->release(); });
    if (step.ended) break;
    if (!step.piece) {
      bell->acquire();
      continue;
    }
    const std::size_t data = step.piece->find("event: change\ndata: ");
    if (data != std::string::npos) events.push_back(std::atoi(step.piece->c_str() + data + 20));
  }
  return events;
}

TEST(BroadcastConcurrencyTest, TellsEveryStreamEveryEventInOrder) {
  constexpr int kEvents = 500;
  const testing::ManualClock clock;
  Broadcast cast(1, clock, {.kept_events = kEvents});
  std::vector<std::vector<int>> received(4);
  {
    std::vector<std::jthread> threads;
    for (auto& events : received) {
      threads.emplace_back(
          [&events, stream = cast.open(std::nullopt)] { events = read_events(*stream, kEvents); });
    }
    threads.emplace_back([&cast] {  // pages come and go meanwhile
      for (int i = 0; i < 200; ++i) (void)cast.open(cast.newest());
    });
    threads.emplace_back([&cast] {
      for (int i = 0; i < 200; ++i) cast.beat();
    });
    for (int i = 1; i <= kEvents; ++i) cast.publish("change", std::to_string(i));
  }
  for (const auto& events : received) {
    ASSERT_EQ(events.size(), static_cast<std::size_t>(kEvents));
    for (int i = 0; i < kEvents; ++i) EXPECT_EQ(events[static_cast<std::size_t>(i)], i + 1);
  }
}

TEST(BroadcastConcurrencyTest, EndsStreamsThatWait) {
  const testing::ManualClock clock;
  Broadcast cast(1, clock);
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([stream = cast.open(std::nullopt)] { read_events(*stream, 1); });
  }
  cast.close();  // all threads end, or the test does not
}

}  // namespace
}  // namespace tangram::extender
