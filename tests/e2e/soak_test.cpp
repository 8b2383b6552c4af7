// kube-scheduler beside hostile clients: its throughput, and the cost of the clients.

#include "tests/e2e/attack.hpp"
#include "tests/e2e/fixture.hpp"
#include "tests/e2e/webhook.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <optional>
#include <vector>

namespace tangram::e2e {
namespace {

struct Usage {
  int memory_mib = 0;
  int descriptors = 0;
};

Usage usage_of(pid_t pid) {
  const std::filesystem::path folder = "/proc/" + std::to_string(pid);
  Usage usage;
  std::ifstream status(folder / "status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmRSS:")) usage.memory_mib = std::stoi(line.substr(6)) / 1024;
  }
  const std::filesystem::directory_iterator open(folder / "fd");
  usage.descriptors = static_cast<int>(std::distance(begin(open), end(open)));
  return usage;
}

/// Polls /healthz every 100 ms, more often than kubelet does.
class Probe {
 public:
  explicit Probe(const ExtenderProcess& extender)
      : thread_([this, &extender](const std::stop_token& stop) {
          while (!stop.stop_requested()) ask(extender);
        }) {}
  /// Read it after the end of the probe.
  struct Result {
    int requests = 0;
    int failed = 0;
    double slowest_s = 0;
  };
  Result end() {
    thread_.request_stop();
    thread_.join();
    return result_;
  }

 private:
  void ask(const ExtenderProcess& extender) {
    const auto begin = TimePoint::clock::now();
    ++result_.requests;
    if (!extender.get("/healthz").starts_with("ok")) ++result_.failed;
    result_.slowest_s =
        std::max(result_.slowest_s, seconds_between(begin, TimePoint::clock::now()));
    std::this_thread::sleep_for(100ms);
  }

  Result result_;
  std::jthread thread_;
};

class SoakTest : public E2eTest {
 protected:
  SoakTest() { cluster_.add_nodes(mixed_nodes(sized(300, 100))); }

  /// From the first bind to the last.
  double pods_per_second(int pods, const std::string& name) {
    PodWatcher watcher(*api_);
    cluster_.add_pods(mixed_pods(pods, name));
    EXPECT_TRUE(watcher.wait_bound(pods, 3min)) << name;
    std::vector<TimePoint> times;
    for (const auto& [uid, pod] : watcher.pods()) times.push_back(pod.bound);
    const auto [first, last] = std::ranges::minmax(times);
    cluster_.clear_pods();
    EXPECT_TRUE(watcher.wait([](const SeenPods& seen) { return count_present(seen) == 0; }, 1min));
    return static_cast<double>(pods - 1) / seconds_between(first, last);
  }

  static void await_begin(const Attack& attack) {
    const auto deadline = TimePoint::clock::now() + 30s;
    while (attack.begun() < Attack::kClients / 2 && TimePoint::clock::now() < deadline) {
      std::this_thread::sleep_for(50ms);
    }
  }

  const std::filesystem::path certificates_ = webhook_certificates();
};

TEST_F(SoakTest, SchedulesAsFastBesideHostileClients) {
  const auto length = sized<std::chrono::seconds>(10min, 30s);
  const int pods = sized(400, 150);
  ExtenderProcess extender({.name = "extender-soak", .certificates = certificates_});
  extender.start_ready();
  const Process scheduler =
      start_scheduler({.extender_url = extender.url(), .certificates = certificates_});
  pods_per_second(pods, "warm-up");
  const Usage before = usage_of(extender.process().pid());

  std::vector<double> ratios;
  std::vector<Usage> under_attack;
  int hostile = 0;
  double attackers_cpu_s = 0;
  double attacked_s = 0;
  Probe probe(extender);
  const auto end = TimePoint::clock::now() + length;
  for (int round = 0; TimePoint::clock::now() < end; ++round) {
    // Both come first equally often, so that drift affects all equally.
    std::array<double, 2> rates{};
    for (const int turn : {round % 2, 1 - round % 2}) {
      const auto name = "round-" + std::to_string(round) + "-" + std::to_string(turn);
      std::optional<Attack> attack;
      if (turn == 1) {
        attack.emplace(static_cast<std::uint16_t>(extender.port()));
        await_begin(*attack);
      }
      const TimePoint begin = TimePoint::clock::now();
      rates.at(static_cast<std::size_t>(turn)) = pods_per_second(pods, name);
      if (attack) {
        under_attack.push_back(usage_of(extender.process().pid()));
        hostile += attack->begun();
        attackers_cpu_s += attack->cpu_seconds();
        attacked_s += seconds_between(begin, TimePoint::clock::now());
      }
    }
    ratios.push_back(rates[1] / rates[0]);
    std::cout << "round " << round << ": " << rates[0] << " pods/s, attacked " << rates[1]
              << ", MiB " << under_attack.back().memory_mib << std::endl;
  }
  const Probe::Result health = probe.end();
  expect_books_right_soon(extender);
  EXPECT_GT(hostile, Attack::kClients / 2);
  EXPECT_GE(percentile(ratios, 50), sized(0.9, 0.5));
  EXPECT_EQ(health.failed, 0);
  EXPECT_LT(health.slowest_s, 1.0);

  const double shed = extender.metric("tangram_http_shed_total");
  const double too_fast = extender.metric("tangram_http_shed_total", R"(what="rate")");
  EXPECT_GT(too_fast, 0);
  // The number of connections to the API server and from kube-scheduler varies.
  constexpr int kComingAndGoing = 40;
  const auto calm = [&] {
    return usage_of(extender.process().pid()).descriptors <= before.descriptors + kComingAndGoing;
  };
  const auto deadline = TimePoint::clock::now() + 60s;  // lingering connections end within seconds
  while (!calm() && TimePoint::clock::now() < deadline) std::this_thread::sleep_for(100ms);
  const Usage after = usage_of(extender.process().pid());
  EXPECT_LE(after.descriptors, before.descriptors + kComingAndGoing);
  // Later attacks reuse the first one's memory and may add little.
  const auto memory = [&](std::size_t round) { return under_attack.at(round).memory_mib; };
  const int early = std::max(memory(0), memory(under_attack.size() / 3));
  EXPECT_LE(under_attack.back().memory_mib, early + std::max(32, early / 10));
  Figures("soak")
      .add("seconds", static_cast<int>(length.count()))
      .add("rounds", static_cast<int>(ratios.size()))
      .add("hostile_connections", hostile)
      .add("attackers_cores", attackers_cpu_s / attacked_s)
      .add("throughput_ratio_median", percentile(ratios, 50))
      .add("throughput_ratio_least", percentile(ratios, 0))
      .add("memory_mib_before", before.memory_mib)
      .add("memory_mib_first_attack", under_attack.front().memory_mib)
      .add("memory_mib_last_attack", under_attack.back().memory_mib)
      .add("descriptors_before", before.descriptors)
      .add("descriptors_under_attack", under_attack.back().descriptors)
      .add("descriptors_after", after.descriptors)
      .add("shed", static_cast<int>(shed))
      .add("too_fast", static_cast<int>(too_fast))
      .add("health_asked", health.requests)
      .add("health_slowest_s", health.slowest_s);
}

}  // namespace
}  // namespace tangram::e2e
