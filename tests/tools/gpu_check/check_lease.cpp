// Turns on a card that containers share by time: the agent's own arbiter, on this card.
#include "node/lease/card_lease.hpp"
#include "tests/tools/gpu_check/checks.hpp"
#include "tests/tools/gpu_check/container.hpp"
#include "tests/tools/gpu_check/worker.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <ctime>
#include <iterator>
#include <numeric>
#include <thread>

namespace tangram::gpu_check {

namespace {

using namespace std::chrono_literals;
using node::lease::LeasedContainer;

constexpr std::int64_t kHeadStart = 4;  // seconds until both programs have their contexts
constexpr std::int64_t kBinsPerSecond = 10;
constexpr std::uint32_t kProbeRounds = 40'000;  // about a millisecond
constexpr double kNsPerSecond = 1e9;

/// What a program asks of the card, over and over.
struct Kind {
  std::string name;
  double kernel_ns;  ///< of each kernel
  std::int64_t kernels = 1;
  std::int64_t batch = 1;
  // Measured by a program that is alone:
  std::int64_t rounds = 0;
  double per_second = 0;  ///< units
};

std::vector<Kind> kinds() {
  return {{.name = "10 us", .kernel_ns = 1e4, .batch = 100},
          {.name = "1 ms", .kernel_ns = 1e6},
          {.name = "50 ms", .kernel_ns = 5e7},
          {.name = "graph of 100 x 50 us", .kernel_ns = 5e4, .kernels = 100}};
}

double sum(const std::vector<double>& bins, std::size_t from, std::size_t count) {
  const auto begin = bins.begin() + static_cast<std::ptrdiff_t>(from);
  return std::accumulate(begin, begin + static_cast<std::ptrdiff_t>(count), 0.0);
}

class LeaseCheck {
 public:
  LeaseCheck(const Setting& in, Containers& containers, Container a, Container b)
      : in_(in), containers_(containers), a_(std::move(a)), b_(std::move(b)) {}

  void run() {
    auto measured = kinds();
    for (Kind& kind : measured) {
      if (!measure(kind)) return;
    }
    const Kind& shortest = measured[0];
    const Kind& longest = measured[2];
    for (const Kind& kind : measured) check_pair(kind, kind);
    check_pair(shortest, longest);
    check_lending(measured[1]);
    check_limit(measured[1]);
  }

 private:
  /// Of thousandths of the card; a limit of 1000 is none.
  [[nodiscard]] LeasedContainer leased(const Container& container, std::int64_t share,
                                       std::int64_t limit = 1000) const {
    auto pages = containers_.limiter().pages(container.allocation());
    const auto place = pages->place_of(in_.card.card.id).value_or(0);
    return {.name = container.allocation(),
            .pages = std::move(pages),
            .place = place,
            .time = {MilliGpu(share), MilliGpu(limit)}};
  }
  void lease(std::int64_t share_of_a) {
    leases_.set({{in_.card.card.id, {leased(a_, share_of_a), leased(b_, 1000 - share_of_a)}}});
  }

  [[nodiscard]] Result<Findings> work(const Container& container, const Kind& kind,
                                      WorkerOptions options) const {
    options.rounds = kind.rounds;
    options.kernels = kind.kernels;
    options.batch = kind.batch;
    auto found =
        start_worker(in_.programs, options, container.environment(), container.command({}));
    if (found && !found->text("error").empty()) {
      return fail(Errc::kUnavailable, found->text("error"));
    }
    if (found && found->number("late") != 0) {
      return fail(Errc::kUnavailable, "a program started late");
    }
    if (found && std::ssize(found->bins()) != options.bins) {
      return fail(Errc::kUnavailable, "a program ended without its figures");
    }
    return found;
  }

  /// How many rounds make its kernels as long as they are to be, and how fast it is alone.
  bool measure(Kind& kind) {
    const auto alone = [&](const Kind& of) -> double {
      const auto found = work(a_, of, {.bins = 2 * kBinsPerSecond});
      if (!found) in_.report.failed("lease: " + kind.name + " alone", found.error().message);
      return found ? sum(found->bins(), kBinsPerSecond, kBinsPerSecond) : 0;
    };
    const double probes =
        alone({.name = "probe", .kernel_ns = 0, .rounds = std::int64_t{kProbeRounds}});
    if (probes <= 0) return false;
    kind.rounds = std::llround(kind.kernel_ns * probes * kProbeRounds / kNsPerSecond);
    kind.per_second = alone(kind);
    if (kind.per_second <= 0) return false;
    in_.report.passed("lease: " + kind.name + ", alone on the card",
                      decimal(kind.per_second) + " launches per second");
    return true;
  }

  struct Bins {
    std::vector<double> a;
    std::vector<double> b;
  };
  /// Both at the same time; meanwhile(start) runs beside them.
  template <class Meanwhile>
  Result<Bins> together(const Kind& of_a, const Kind& of_b, const WorkerOptions& a,
                        const WorkerOptions& b, const Meanwhile& meanwhile) {
    WorkerOptions first = a;
    WorkerOptions second = b;
    first.start_at = second.start_at = static_cast<std::int64_t>(std::time(nullptr)) + kHeadStart;
    Result<Findings> found_a = fail(Errc::kUnavailable, "was not started");
    Result<Findings> found_b = found_a;
    {
      const std::jthread in_a([&] { found_a = work(a_, of_a, first); });
      const std::jthread in_b([&] { found_b = work(b_, of_b, second); });
      meanwhile(std::chrono::system_clock::time_point(std::chrono::seconds(first.start_at)));
    }
    leases_.set({});
    if (!found_a) return found_a.error();
    if (!found_b) return found_b.error();
    return Bins{found_a->bins(), found_b->bins()};
  }

  /// Three pairs of shares, one after the other, under the same programs: the first second of each
  /// does not count.
  void check_pair(const Kind& of_a, const Kind& of_b) {
    constexpr std::array<std::int64_t, 3> kShares{100, 300, 500};
    const std::int64_t seconds = in_.lease_seconds + 1;
    const WorkerOptions options{.bins = static_cast<std::int64_t>(kShares.size()) * seconds *
                                        kBinsPerSecond};
    const auto bins = together(of_a, of_b, options, options, [&](auto start) {
      std::chrono::seconds after{0};
      for (const std::int64_t share : kShares) {
        std::this_thread::sleep_until(start + after);
        lease(share);
        after += std::chrono::seconds(seconds);
      }
    });
    const std::string what = "lease: " + of_a.name + " beside " + of_b.name + ", ";
    if (!bins) return in_.report.not_checked(what + "shares", bins.error().message);
    for (std::size_t i = 0; i < kShares.size(); ++i) {
      const auto first =
          (i * static_cast<std::size_t>(seconds) + 1) * static_cast<std::size_t>(kBinsPerSecond);
      judge(what, of_a, of_b, *bins, kShares.at(i), first);
    }
  }

  void judge(const std::string& what, const Kind& of_a, const Kind& of_b, const Bins& bins,
             std::int64_t share, std::size_t first) {
    const double expected = static_cast<double>(share) / 10;
    const auto error = [&](std::size_t from, std::size_t count) {
      const double a = sum(bins.a, from, count) / of_a.per_second;
      const double b = sum(bins.b, from, count) / of_b.per_second;
      return a + b > 0 ? std::abs(100 * a / (a + b) - expected) : 100;
    };
    const auto all = static_cast<std::size_t>(in_.lease_seconds * kBinsPerSecond);
    double most = 0;
    for (std::size_t from = 0; from + kBinsPerSecond <= all; ++from) {
      most = std::max(most, error(first + from, kBinsPerSecond));
    }
    const std::string pair = std::to_string(share / 10) + " : " + std::to_string(100 - share / 10);
    // Only whole units are counted, of which one may lie on the edge of the second.
    const double unit_points = 100 / std::min(of_a.per_second / static_cast<double>(of_a.batch),
                                              of_b.per_second / static_cast<double>(of_b.batch));
    in_.report.expect_at_most(most, 5 + unit_points, "points",
                              what + pair + ", most error over 1 s");
    in_.report.expect_at_most(
        error(first, all), 2 + unit_points * kBinsPerSecond / static_cast<double>(all), "points",
        what + pair + ", error over " + std::to_string(in_.lease_seconds) + " s");
  }

  /// B stops; A then has the whole card.
  void check_lending(const Kind& kind) {
    constexpr std::int64_t kBinMs = 20;
    constexpr std::int64_t kIdleFrom = 100;  // 2 s
    constexpr std::int64_t kBins = 200;
    const std::string what = "lease: idle time is lent after";
    const WorkerOptions busy{.bins = kBins, .bin_ms = kBinMs};
    WorkerOptions idle = busy;
    idle.idle_from = kIdleFrom;
    const auto bins = together(kind, kind, busy, idle, [&](auto) { lease(500); });
    if (!bins) return in_.report.not_checked(what, bins.error().message);
    constexpr std::size_t kWindow = 10;
    const double whole = kind.per_second * kBinMs * kWindow / 1000;
    std::size_t from = kIdleFrom;
    while (from + kWindow < kBins && sum(bins->a, from, kWindow) < 0.9 * whole) ++from;
    in_.report.expect_at_most(static_cast<double>((from - kIdleFrom) * kBinMs), 200, "ms",
                              what + " (90 % of the speed alone)");
  }

  /// A limit holds although nobody else wants the card.
  void check_limit(const Kind& kind) {
    const std::string what = "lease: a container with a limit of 0.3, alone on the card";
    leases_.set({{in_.card.card.id, {leased(a_, 300, 300)}}});
    const auto found = work(a_, kind, {.bins = 4 * kBinsPerSecond});
    leases_.set({});
    if (!found) return in_.report.not_checked(what, found.error().message);
    const double part =
        100 * sum(found->bins(), kBinsPerSecond, 3 * kBinsPerSecond) / (3 * kind.per_second);
    in_.report.expect(std::abs(part - 30) <= 5, what, decimal(part) + " %", "25 to 35 %");
  }

  const Setting& in_;
  Containers& containers_;
  const Container a_;
  const Container b_;
  SystemClock clock_;
  node::lease::CardLeases leases_{clock_};
};

}  // namespace

void check_lease(const Setting& in) {
  auto containers = Containers::create(in.build, in.work_dir);
  if (!containers) return in.report.not_checked("lease", containers.error().message);
  auto a = containers->make("lease-a", share_of(in.card, 400));
  auto b = containers->make("lease-b", share_of(in.card, 400));
  if (!a) return in.report.not_checked("lease", a.error().message);
  if (!b) return in.report.not_checked("lease", b.error().message);
  LeaseCheck(in, *containers, std::move(*a), std::move(*b)).run();
}

}  // namespace tangram::gpu_check
