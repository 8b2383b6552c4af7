// The elector asked from other threads while it wins, renews and loses.
#include "kube/leader_election.hpp"
#include "kube/local/api.hpp"
#include "tests/testing/manual_clock.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace tangram::kube {
namespace {

using std::chrono::milliseconds;

TEST(LeaderElectionConcurrencyTest, AnswersWhileItRuns) {
  testing::ManualClock clock;
  LocalApi server(clock);
  constexpr int kSteps = 300;
  std::atomic<int> sleeps = 0;
  std::atomic<std::size_t> led = 0;
  std::stop_source stop;
  const auto elector = *LeaderElector::create(
      {.ns = "n", .name = "l", .identity = "a"},
      {.api = server,
       .clock = clock,
       .random = [] { return 0.0; },
       .sleeper =
           [&](milliseconds wait, const std::stop_token&) {
             // Some sleeps are so long that the lease is lost. Between them the elector must find
             // time to see for a lease's duration, look by look, that there is none.
             const int count = ++sleeps;
             clock.advance(count % 40 == 0 ? std::chrono::seconds(11) : wait);
             if (count >= kSteps && led > 0) stop.request_stop();
           }},
      {});
  {
    std::vector<std::jthread> askers;
    for (int i = 0; i < 3; ++i) {
      askers.emplace_back([&] {
        while (!stop.stop_requested()) {
          const auto until = elector->leads_until();
          if (until && elector->leads_past(clock.now())) ++led;
          EXPECT_LE(elector->status().transitions, kSteps);
        }
      });
    }
    elector->run(stop.get_token());
  }
  EXPECT_GT(led, 0U);
  EXPECT_EQ(elector->leads_until(), std::nullopt);
  EXPECT_EQ(elector->status().holder, "");
}

}  // namespace
}  // namespace tangram::kube
