// Pods per second of the real kube-scheduler, and what each program computes for a pod: without an
// extender, with one that does nothing, and with Tangram, side by side.

#include "tests/e2e/fixture.hpp"
#include "tests/e2e/null_extender.hpp"
#include "tests/e2e/usage.hpp"

#include <unistd.h>

#include <algorithm>
#include <functional>
#include <iostream>
#include <map>
#include <numeric>

namespace tangram::e2e {
namespace {

struct Contender {
  std::string name;
  enum class Extender { kNone, kNull, kTangram } extender;
  int short_list;
  SchedulerOptions scheduler = {};
};

/// By program: "extender" (Tangram's), "scheduler", "apiserver", "etcd", and "test", which watches
/// the pods and is the null extender.
using CpuTimes = std::map<std::string, double>;

/// What one setup did in one round.
struct Outcome {
  double pods_per_second = 0;
  CpuTimes cpu_ms;  ///< per pod

  [[nodiscard]] double all_cpu_ms() const {
    return std::accumulate(cpu_ms.begin(), cpu_ms.end(), 0.0,
                           [](double sum, const auto& one) { return sum + one.second; });
  }
};
using Outcomes = std::vector<Outcome>;  ///< by round

struct Size {
  int nodes;
  int pods;
};

class ThroughputTest : public E2eTest {
 protected:
  /// So high that kube-scheduler's limit on its own requests does not affect the comparison.
  /// Without an extender, each bind is such a request.
  static constexpr int kUnlimited = 1'000;

  /// Each setup in each round.
  std::map<std::string, Outcomes> play(const std::vector<Contender>& setups, Size size,
                                       int rounds) {
    cluster_.add_nodes(mixed_nodes(size.nodes));
    std::map<std::string, Outcomes> runs;
    for (int round = 0; round < rounds; ++round) {
      for (std::size_t i = 0; i < setups.size(); ++i) {
        // Every setup takes every position, so that drift affects all equally.
        const auto& setup = setups[(i + static_cast<std::size_t>(round)) % setups.size()];
        runs[setup.name].push_back(run(setup, size.pods, round));
      }
    }
    return runs;
  }

  static void report(const std::map<std::string, Outcomes>& runs, Size size) {
    for (const auto& [name, its] : runs) {
      Figures figures("throughput");
      figures.add("setup", name).add("nodes", size.nodes).add("pods", size.pods);
      figures.add("rounds", static_cast<int>(its.size()));
      figures.median("pods_per_s", values(its, &Outcome::pods_per_second));
      figures.add("cpu_ms_per_pod", percentile(values(its, &Outcome::all_cpu_ms), 50));
      for (const auto& entry : its.front().cpu_ms) {
        const auto of_program = [&](const Outcome& run) { return run.cpu_ms.at(entry.first); };
        figures.add(entry.first + "_ms", percentile(values(its, of_program), 50));
      }
    }
  }

  /// Round by round, because what slows the machine down slows both.
  static void compare(const std::map<std::string, Outcomes>& runs, const std::string& name,
                      const std::string& with, Size size) {
    std::vector<double> rates;
    std::vector<double> cpu_times;
    for (std::size_t round = 0; round < runs.at(name).size(); ++round) {
      const Outcome& one = runs.at(name)[round];
      const Outcome& other = runs.at(with)[round];
      rates.push_back(one.pods_per_second / other.pods_per_second);
      cpu_times.push_back(one.all_cpu_ms() / other.all_cpu_ms());
    }
    Figures("throughput_ratio")
        .add("of", name)
        .add("to", with)
        .add("nodes", size.nodes)
        .median("rate", rates)
        .median("cpu", cpu_times);
  }

 private:
  template <class Value>
  static std::vector<double> values(const Outcomes& runs, Value value) {
    std::vector<double> all;
    for (const Outcome& run : runs) all.push_back(std::invoke(value, run));
    return all;
  }

  Outcome run(const Contender& setup, int pods, int round) {
    auto specs = mixed_pods(pods, setup.name + "-" + std::to_string(round));
    PodWatcher watcher(*api_);
    cluster_.add_pods(specs);

    std::map<std::string, pid_t> programs{
        {"apiserver", apiserver_pid()}, {"etcd", etcd_pid()}, {"test", getpid()}};
    std::optional<ExtenderProcess> extender;
    std::optional<NullExtender> null_extender;
    std::string url;
    if (setup.extender == Contender::Extender::kTangram) {
      extender.emplace(ExtenderProcess::Options{
          .settings = {"scheduler.short_list=" + std::to_string(setup.short_list)}});
      extender->start_ready();
      url = extender->url();
      programs["extender"] = extender->process().pid();
    } else if (setup.extender == Contender::Extender::kNull) {
      url = null_extender.emplace(*api_, setup.short_list).url();
    }
    SchedulerOptions options = setup.scheduler;
    options.extender_url = url;
    options.client_qps = kUnlimited;
    Process scheduler = start_scheduler(options);
    programs["scheduler"] = scheduler.pid();
    const Outcome result = measure(watcher, programs, pods);
    if (extender) expect_books_right(*extender);
    scheduler.terminate();
    remove_pods(watcher);
    std::cout << "round " << round << " " << setup.name << " " << result.pods_per_second
              << " pods/s, " << result.all_cpu_ms() << " ms of CPU per pod" << std::endl;
    return result;
  }

  /// From the first bind to the last, without the time that the programs need to start.
  static Outcome measure(PodWatcher& watcher, const std::map<std::string, pid_t>& programs,
                         int pods) {
    EXPECT_TRUE(watcher.wait_bound(1, 3min));
    const int before = count_bound(watcher.pods());
    const CpuTimes begin = cpu_times_of(programs);
    EXPECT_TRUE(watcher.wait_bound(pods, 3min));
    Outcome run{.pods_per_second = rate_of(watcher.pods()), .cpu_ms = cpu_times_of(programs)};
    for (auto& [program, time] : run.cpu_ms) {
      time = (time - begin.at(program)) / std::max(1, pods - before);
    }
    return run;
  }

  static CpuTimes cpu_times_of(const std::map<std::string, pid_t>& programs) {
    CpuTimes times;
    for (const auto& [program, pid] : programs) times[program] = 1'000 * cpu_time_of(pid).count();
    return times;
  }

  static double rate_of(const SeenPods& pods) {
    std::vector<TimePoint> times;
    for (const auto& [uid, pod] : pods) {
      if (pod.bind_was_seen) times.push_back(pod.bound);
    }
    if (times.size() < 2) return 0;
    const auto [first, last] = std::ranges::minmax(times);
    return static_cast<double>(times.size() - 1) / seconds_between(first, last);
  }

  void remove_pods(PodWatcher& watcher) {
    cluster_.clear_pods();
    EXPECT_TRUE(watcher.wait([](const SeenPods& pods) { return count_present(pods) == 0; }, 1min));
  }
};

TEST_F(ThroughputTest, OfSetupsSideBySide) {
  using enum Contender::Extender;
  const Size size{.nodes = sized(1'000, 100), .pods = sized(1'200, 150)};
  const auto runs = play({{"none", kNone, 0},
                          {"null-1", kNull, 1},
                          {"tangram-1", kTangram, 1},
                          {"null-8", kNull, 8},
                          {"tangram-8", kTangram, 8},
                          {"null-all", kNull, 0},
                          {"tangram-all", kTangram, 0}},
                         size, sized(9, 1));
  report(runs, size);
  compare(runs, "tangram-1", "none", size);
  for (const std::string list : {"1", "8", "all"}) {
    compare(runs, "tangram-" + list, "null-" + list, size);
  }
}

// As shipped.
TEST_F(ThroughputTest, OnALargeCluster) {
  using enum Contender::Extender;
  const Size size{.nodes = sized(5'000, 200), .pods = sized(800, 100)};
  const auto runs = play({{"none", kNone, 0}, {"null-1", kNull, 1}, {"tangram-1", kTangram, 1}},
                         size, sized(9, 1));
  report(runs, size);
  compare(runs, "tangram-1", "none", size);
  compare(runs, "tangram-1", "null-1", size);
}

// What other settings of kube-scheduler would gain or lose in a large cluster.
TEST_F(ThroughputTest, OfTheSchedulersSettings) {
  using enum Contender::Extender;
  const Size size{.nodes = sized(5'000, 200), .pods = sized(800, 100)};
  // None of them matters to the test's pods.
  const std::vector<std::string> plugins{
      "DynamicResources", "ImageLocality",      "InterPodAffinity",
      "NodeAffinity",     "NodePorts",          "NodeResourcesBalancedAllocation",
      "NodeVolumeLimits", "PodTopologySpread",  "TaintToleration",
      "VolumeBinding",    "VolumeRestrictions", "VolumeZone"};
  const auto runs = play({{"shipped", kTangram, 1},
                          {"parallelism-2", kTangram, 1, {.parallelism = 2}},
                          {"parallelism-64", kTangram, 1, {.parallelism = 64}},
                          {"sampled", kTangram, 1, {.percentage_of_nodes = 0}},
                          {"few-plugins", kTangram, 1, {.without = plugins}}},
                         size, sized(7, 1));
  report(runs, size);
  for (const std::string setup : {"parallelism-2", "parallelism-64", "sampled", "few-plugins"}) {
    compare(runs, setup, "shipped", size);
  }
}

}  // namespace
}  // namespace tangram::e2e
