// tangram-small-clusters: compares policies on generated small clusters.

#include "bench/replay/small_clusters.hpp"
#include "policies/registry.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <iostream>
#include <map>
#include <mutex>
#include <thread>

namespace {

using namespace tangram;

constexpr int kInvalidReplay = 1;  // a rule was broken
constexpr int kCannotRun = 2;      // bad arguments

struct Options {
  int seeds = 1'000;
  int jobs = 0;
  std::vector<std::string> policies;
  bool classes = false;
};

/// What the pods and cards of many traces came to.
struct Sum {
  bench::Packing all;
  void add(const bench::Packing& one) {
    all.pods += one.pods;
    all.waiting += one.waiting;
    all.cards += one.cards;
    all.idle += one.idle;
  }
  [[nodiscard]] double waiting() const { return 100 * all.waiting / all.pods; }
  [[nodiscard]] double idle() const { return 100 * all.idle / all.cards; }
};

/// By class of clusters, then by policy.
using Table = std::vector<std::vector<Sum>>;

class Comparison {
 public:
  explicit Comparison(const Options& options)
      : options_(options), clusters_(bench::small_clusters()) {
    table_.assign(clusters_.size(), std::vector<Sum>(options.policies.size()));
  }

  Result<void> run() {
    std::vector<std::jthread> workers;
    workers.reserve(static_cast<std::size_t>(options_.jobs));
    for (int i = 0; i < options_.jobs; ++i) workers.emplace_back([this] { work(); });
    workers.clear();
    if (error_) return *error_;
    return {};
  }

  void print() const {
    fmt::print("{} classes x {} seeds\n\npolicy        waiting pods %   idle cards %\n",
               clusters_.size(), options_.seeds);
    for (std::size_t p = 0; p < options_.policies.size(); ++p) {
      const Sum sum = over_all(p);
      fmt::print("{:12} {:15.3f} {:14.3f}\n", options_.policies[p], sum.waiting(), sum.idle());
    }
    if (options_.classes) print_classes();
  }

 private:
  void work() {
    for (std::size_t c = next_++; c < clusters_.size(); c = next_++) {
      for (int seed = 1; seed <= options_.seeds; ++seed) {
        const bench::Trace trace = bench::generate(clusters_[c], static_cast<std::uint64_t>(seed));
        for (std::size_t p = 0; p < options_.policies.size(); ++p) {
          auto packing = bench::pack(trace, options_.policies[p]);
          if (!packing) {
            const std::scoped_lock lock(mutex_);
            error_ = packing.error();
            return;
          }
          table_[c][p].add(*packing);
        }
      }
    }
  }

  [[nodiscard]] Sum over_all(std::size_t policy) const {
    Sum sum;
    for (const auto& row : table_) sum.add(row[policy].all);
    return sum;
  }

  void print_classes() const {
    fmt::print("\nnodes sizes load whole  ");
    for (const std::string& policy : options_.policies) fmt::print(" {:>15.15}", policy);
    fmt::print("\n");
    for (std::size_t c = 0; c < clusters_.size(); ++c) {
      const bench::SmallCluster& of = clusters_[c];
      fmt::print("{:5} {:5} {:4} {:6} ", of.nodes, of.sizes, of.load_percent,
                 bench::name_of(of.whole));
      for (const Sum& sum : table_[c]) fmt::print("  {:6.3f}/{:7.3f}", sum.waiting(), sum.idle());
      fmt::print("\n");
    }
  }

  const Options& options_;
  const std::vector<bench::SmallCluster> clusters_;
  Table table_;
  std::atomic<std::size_t> next_{0};
  std::mutex mutex_;
  std::optional<Error> error_;
};

}  // namespace

int main(int argc, char** argv) try {
  Options options;
  CLI::App app(
      "Compares policies on generated small clusters: pods that wait and cards left idle.");
  app.option_defaults()->always_capture_default();
  app.add_option("--seeds", options.seeds, "Traces of each class")->check(CLI::Range(1, 1'000'000));
  app.add_option("--jobs", options.jobs, "Threads; 0 = one for each core");
  app.add_option("--policies", options.policies, "Policies to compare; default: all")
      ->delimiter(',')
      ->check(CLI::IsMember(policies::policy_names()));
  app.add_flag("--classes", options.classes, "Also print every class of clusters");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const int code = app.exit(error);
    return code == 0 ? 0 : kCannotRun;
  }
  if (options.jobs <= 0) options.jobs = static_cast<int>(std::thread::hardware_concurrency());
  if (options.policies.empty()) {
    const auto& names = policies::policy_names();
    options.policies.assign(names.begin(), names.end());
  }
  Comparison comparison(options);
  if (const auto done = comparison.run(); !done) {
    std::cerr << "tangram-small-clusters: " << done.error().message << "\n";
    return kInvalidReplay;
  }
  comparison.print();
  return 0;
} catch (const std::exception& error) {
  std::cerr << "tangram-small-clusters: " << error.what() << "\n";
  return kCannotRun;
}
