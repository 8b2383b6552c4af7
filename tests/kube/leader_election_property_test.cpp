// Never two leaders: candidates with clocks that disagree, over a network that delays, loses and
// delivers late, are held up, crash and resign, for hours of made-up time.
#include "kube/leader_election.hpp"
#include "kube/local/api.hpp"
#include "tests/testing/manual_clock.hpp"

#include <gtest/gtest.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <functional>
#include <iostream>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace tangram::kube {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr const char* kLeasePath = "/apis/coordination.k8s.io/v1/namespaces/n/leases/l";

/// The world's clock as one machine reads it.
class SkewedClock final : public Clock {
 public:
  SkewedClock(const Clock& world, milliseconds since_boot, milliseconds wall_error)
      : world_(world), since_boot_(since_boot), wall_error_(wall_error) {}
  [[nodiscard]] TimePoint now() const override { return world_.now() + since_boot_; }
  [[nodiscard]] WallTime wall() const override { return world_.wall() + wall_error_; }

 private:
  const Clock& world_;
  const milliseconds since_boot_;
  const milliseconds wall_error_;
};

/// Everything happens on one thread: whoever waits for the network lets the others go on meanwhile.
class World {
 public:
  explicit World(unsigned seed) : random_(seed) {
    for (int i = 0; i < 3; ++i) machines_.push_back(std::make_unique<Machine>(*this));
  }

  /// Lets time pass, and everybody do what is due.
  void pass(milliseconds time) {
    const TimePoint end = clock_.now() + time;
    while (const auto next = next_event(end)) {
      move_to(next->first);
      next->second();
      check();
    }
    move_to(end);
    check();
  }
  void calm_down() { calm_ = true; }

  [[nodiscard]] std::size_t leaders() const {
    return static_cast<std::size_t>(std::count_if(machines_.begin(), machines_.end(),
                                                  [](const auto& one) { return one->may_act(); }));
  }
  /// Whether two could act as the leader at one moment.
  [[nodiscard]] bool broken() const { return broken_; }
  [[nodiscard]] int elections() const { return elections_; }
  /// How often one that thought it was leading was held back by the fence alone.
  [[nodiscard]] int held_back() const { return held_back_; }
  /// How often the Lease was deleted.
  [[nodiscard]] int removals() const { return removals_; }

 private:
  struct Machine final : KubeApi {
    explicit Machine(World& where)
        : world(where),
          clock(world.clock_, world.up_to(hours(1'000)), world.up_to(hours(48)) - hours(24)) {
      start();
    }
    void start() {
      LeaderSettings settings{.ns = "n", .name = "l", .identity = std::to_string(++world.names_)};
      elector = *LeaderElector::create(
          std::move(settings),
          {.api = *this,
           .clock = clock,
           .random = [this] { return static_cast<double>(world.random_() % 1'000) / 1'000; }},
          {[this] { ++world.elections_; }, {}});
      next = world.clock_.now() + world.up_to(seconds(5));
    }
    void act() {
      busy = true;
      if (world.chance(100)) elector->resign();
      if (world.chance(100)) start();  // a crash, and another process
      if (world.chance(200)) world.remove_lease();
      const milliseconds wait = elector->step();
      const milliseconds hold_up = world.chance(20) ? world.up_to(seconds(40)) : milliseconds(0);
      next = world.clock_.now() + wait + hold_up;
      busy = false;
    }
    [[nodiscard]] bool may_act() const { return elector->leads_past(clock.now()); }

    Result<Response> call(const Request& request) override { return world.exchange(request); }
    Result<Response> watch(const Request&, const WatchFrame&, std::stop_token) override {
      return fail(Errc::kUnavailable, "nobody watches here");
    }

    World& world;
    SkewedClock clock;
    std::unique_ptr<LeaderElector> elector;
    TimePoint next{};
    bool busy = false;
  };
  using Event = std::pair<TimePoint, std::function<void()>>;

  [[nodiscard]] bool chance(unsigned one_in) { return !calm_ && random_() % one_in == 0; }
  [[nodiscard]] milliseconds up_to(milliseconds most) {
    return milliseconds(static_cast<std::int64_t>(random_()) % (most.count() + 1));
  }
  [[nodiscard]] milliseconds delay() {
    return chance(10) ? up_to(seconds(8)) : up_to(milliseconds(100));
  }

  /// Not twice within the time of a look: those who look would not know that there was one.
  void remove_lease() {
    if (clock_.now() < removed_ + seconds(20)) return;
    removed_ = clock_.now();
    ++removals_;
    (void)server_.call({.method = Method::kDelete, .path = kLeasePath});
  }

  void move_to(TimePoint time) {
    if (time > clock_.now()) {
      clock_.advance(std::chrono::duration_cast<milliseconds>(time - clock_.now()));
    }
  }

  std::optional<Event> next_event(TimePoint end) {
    Machine* first = nullptr;
    for (const auto& one : machines_) {
      if (!one->busy && (first == nullptr || one->next < first->next)) first = one.get();
    }
    const auto late = std::min_element(
        late_.begin(), late_.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    if (late != late_.end() && late->first <= end && (!first || late->first < first->next)) {
      Event event{late->first, [this, request = late->second] { (void)server_.call(request); }};
      late_.erase(late);
      return event;
    }
    if (first == nullptr || first->next > end) return std::nullopt;
    return Event{first->next, [first] { first->act(); }};
  }

  /// A request on its way there and its answer on its way back.
  Result<Response> exchange(const Request& request) {
    const TimePoint deadline = clock_.now() + request.timeout;
    if (chance(20)) return fail(Errc::kUnavailable, "connection refused");
    pass(delay());
    if (clock_.now() >= deadline || chance(20)) {
      if (chance(2)) late_.emplace_back(clock_.now() + up_to(seconds(30)), request);
      return given_up(deadline);
    }
    auto answer = server_.call(request);
    if (chance(20)) return Response{.status = 500, .body = "{}", .retry_after = {}};
    pass(delay());
    if (clock_.now() >= deadline || chance(20)) return given_up(deadline);
    return answer;
  }
  Result<Response> given_up(TimePoint deadline) {
    if (clock_.now() < deadline) {
      pass(std::chrono::duration_cast<milliseconds>(deadline - clock_.now()));
    }
    return fail(Errc::kTimeout, "no answer in time");
  }

  void check() {
    const std::size_t acting = leaders();
    if (acting > 1) broken_ = true;
    const auto convinced = std::count_if(machines_.begin(), machines_.end(), [](const auto& one) {
      return one->elector->status().leading;
    });
    if (acting == 1 && convinced > 1) ++held_back_;
  }

  std::mt19937 random_;
  testing::ManualClock clock_;
  LocalApi server_{clock_};
  bool calm_ = false;
  bool broken_ = false;
  int names_ = 0;
  int elections_ = 0;
  int held_back_ = 0;
  int removals_ = 0;
  TimePoint removed_{};
  std::vector<std::pair<TimePoint, Request>> late_;  ///< requests that arrive when nobody waits
  std::vector<std::unique_ptr<Machine>> machines_;
};

TEST(LeaderElectionProperty, NeverTwoLeadersAndOneInTheEnd) {
  const auto log_level = spdlog::get_level();
  spdlog::set_level(spdlog::level::off);  // thousands of lines about losing the lease
  const unsigned first_seed = std::random_device()();
  std::cout << "seeds from " << first_seed << "\n";
  constexpr unsigned kWorlds = 4;
  int elections = 0;
  int held_back = 0;
  int removals = 0;
  for (unsigned seed = first_seed; seed != first_seed + kWorlds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    World world(seed);
    world.pass(std::chrono::minutes(45));
    ASSERT_FALSE(world.broken());
    elections += world.elections();
    held_back += world.held_back();
    removals += world.removals();
    world.calm_down();
    world.pass(seconds(120));  // longer than anybody is held up, and than a lease
    const int before = world.elections();
    EXPECT_EQ(world.leaders(), 1U);
    world.pass(seconds(600));
    EXPECT_EQ(world.leaders(), 1U);
    ASSERT_FALSE(world.broken());
    EXPECT_EQ(world.elections(), before) << "nothing happened, and yet the leader changed";
  }
  // Else the worlds were too kind to show anything.
  EXPECT_GT(elections, 10 * static_cast<int>(kWorlds));
  EXPECT_GT(held_back, 0);
  EXPECT_GT(removals, 5 * static_cast<int>(kWorlds));
  spdlog::set_level(log_level);
}

}  // namespace
}  // namespace tangram::kube
