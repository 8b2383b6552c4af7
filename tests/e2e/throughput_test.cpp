// Pods per second of the real kube-scheduler: without an extender, with one that does nothing, and
// with Tangram, side by side.

#include "tests/e2e/fixture.hpp"
#include "tests/e2e/null_extender.hpp"

#include <algorithm>
#include <iostream>

namespace tangram::e2e {
namespace {

struct Contender {
  std::string name;
  enum class Extender { kNone, kNull, kTangram } extender;
  int short_list;
};

class ThroughputTest : public E2eTest {
 protected:
  /// So high that kube-scheduler's limit on its own requests does not affect the comparison.
  /// Without an extender, each bind is such a request.
  static constexpr int kUnlimited = 1'000;

  /// From the first bind to the last, without the time that the programs need to start.
  double pods_per_second(const Contender& setup, int pods, int round) {
    auto specs = mixed_pods(pods, setup.name + "-" + std::to_string(round));
    PodWatcher watcher(*api_);
    cluster_.add_pods(specs);

    std::optional<ExtenderProcess> extender;
    std::optional<NullExtender> null_extender;
    std::string url;
    if (setup.extender == Contender::Extender::kTangram) {
      extender.emplace(ExtenderProcess::Options{
          .settings = {"scheduler.short_list=" + std::to_string(setup.short_list)}});
      extender->start_ready();
      url = extender->url();
    } else if (setup.extender == Contender::Extender::kNull) {
      url = null_extender.emplace(*api_, setup.short_list).url();
    }
    Process scheduler = start_scheduler({.extender_url = url, .client_qps = kUnlimited});
    EXPECT_TRUE(watcher.wait_bound(pods, 3min)) << setup.name;
    if (extender) expect_books_right(*extender);
    scheduler.terminate();
    const double rate = rate_of(watcher.pods());
    remove_pods(watcher);
    std::cout << "round " << round << " " << setup.name << " " << rate << " pods/s" << std::endl;
    return rate;
  }

 private:
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
  const std::vector<Contender> setups = {{"none", kNone, 0},          {"null-1", kNull, 1},
                                         {"tangram-1", kTangram, 1},  {"null-8", kNull, 8},
                                         {"tangram-8", kTangram, 8},  {"null-all", kNull, 0},
                                         {"tangram-all", kTangram, 0}};
  const int rounds = sized(7, 1);
  const int pods = sized(1'200, 150);
  const int nodes = sized(1'000, 100);
  cluster_.add_nodes(mixed_nodes(nodes));

  std::map<std::string, std::vector<double>> rates;
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < setups.size(); ++i) {
      // Every setup takes every position, so that drift affects all equally.
      const auto& setup = setups[(i + static_cast<std::size_t>(round)) % setups.size()];
      rates[setup.name].push_back(pods_per_second(setup, pods, round));
    }
  }

  for (const auto& setup : setups) {
    Figures("throughput")
        .add("setup", setup.name)
        .add("nodes", nodes)
        .add("pods", pods)
        .add("rounds", rounds)
        .add("pods_per_s_median", percentile(rates[setup.name], 50));
  }
  for (const std::string list : {"1", "8", "all"}) {
    std::vector<double> ratios;
    for (std::size_t round = 0; round < static_cast<std::size_t>(rounds); ++round) {
      ratios.push_back(rates["tangram-" + list][round] / rates["null-" + list][round]);
    }
    Figures("throughput_ratio")
        .add("names", list)
        .add("median", percentile(ratios, 50))
        .add("least", percentile(ratios, 0))
        .add("most", percentile(ratios, 100));
  }
}

}  // namespace
}  // namespace tangram::e2e
