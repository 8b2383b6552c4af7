// Calls of a process that runs already.
#include "bench/median.hpp"
#include "bench/stand_in/measurements.hpp"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>

namespace tangram::bench {

namespace {

using Clock = std::chrono::steady_clock;
using Nanoseconds = std::chrono::duration<double, std::nano>;

// Of one thread: each turn is shorter than a time slice, so on a busy machine most are undisturbed.
constexpr int kShortRounds = 301;
constexpr int kLaunches = 50'000;
constexpr int kPairs = 1'000;
// A card takes longer for each, and queues some thousand launches.
constexpr int kLaunchRoundsOnCard = 3'001;
constexpr int kLaunchesOnCard = 500;
constexpr int kPairsOnCard = 100;
constexpr int kPairsOfWorkerOnCard = 200;
// Of several workers at a time.
constexpr int kRounds = 31;
constexpr int kWorkers = 8;
constexpr int kPairsOfWorker = 20'000;
constexpr std::size_t kBytes = std::size_t{2} << 20U;

/// Of one of so many.
template <class Work>
double nanoseconds_each(int times, const Work& work) {
  const auto start = Clock::now();
  for (int i = 0; i < times; ++i) work();
  return Nanoseconds(Clock::now() - start).count() / times;
}

int launch_rounds(const Driver& driver) {
  return driver.has_card() ? kLaunchRoundsOnCard : kShortRounds;
}

double launches(const Driver& driver, Driver::Launch launch) {
  const int times = driver.has_card() ? kLaunchesOnCard : kLaunches;
  const double each = nanoseconds_each(times, [&, kernel = driver.kernel()] {
    (void)launch(kernel, 1, 1, 1, 32, 1, 1, 0, nullptr, nullptr, nullptr);
  });
  driver.synchronize();
  return each;
}

double pairs(const Driver& driver, int times) {
  return nanoseconds_each(times, [&] {
    Driver::CUdeviceptr pointer = 0;
    (void)driver.allocate(&pointer, kBytes);
    (void)driver.free(pointer);
  });
}

/// How far several workers are: in memory that processes share.
struct Progress {
  std::atomic<int> ready{0};
  std::atomic<bool> go{false};
};

int pairs_of_worker(const Driver& driver) {
  return driver.has_card() ? kPairsOfWorkerOnCard : kPairsOfWorker;
}

void take_part(Progress& progress, const Driver& driver) {
  driver.use_card();
  Driver::CUdeviceptr pointer = 0;  // a child opens its account with the first call
  (void)driver.allocate(&pointer, kBytes);
  (void)driver.free(pointer);
  ++progress.ready;
  while (!progress.go) std::this_thread::yield();
  (void)pairs(driver, pairs_of_worker(driver));
}

/// Lets the workers go once all are ready. @returns the time from then until `join` returns
template <class Join>
double until_all_have_done(Progress& progress, int pairs_each, const Join& join) {
  while (progress.ready < kWorkers) std::this_thread::yield();
  const auto start = Clock::now();
  progress.go = true;
  join();
  const double took = Nanoseconds(Clock::now() - start).count();
  const int busy = std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 1, kWorkers);
  return took * busy / kWorkers / pairs_each;
}

double pairs_of_threads(const Driver& driver) {
  Progress progress;
  std::vector<std::thread> threads;
  threads.reserve(kWorkers);
  for (int i = 0; i < kWorkers; ++i) {
    threads.emplace_back([&] { take_part(progress, driver); });
  }
  return until_all_have_done(progress, pairs_of_worker(driver), [&] {
    for (std::thread& thread : threads) thread.join();
  });
}

double pairs_of_processes(const Driver& driver) {
  void* const shared =
      mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) std::abort();
  auto* const progress = new (shared) Progress;
  std::array<pid_t, kWorkers> children{};
  for (pid_t& child : children) {
    child = fork();
    if (child < 0) std::abort();
    if (child > 0) continue;
    take_part(*progress, driver);
    _exit(0);
  }
  const double each = until_all_have_done(*progress, pairs_of_worker(driver), [&] {
    for (const pid_t child : children) (void)waitpid(child, nullptr, 0);
  });
  (void)munmap(shared, sizeof(Progress));
  return each;
}

template <class Measure>
Comparison in_turns(Comparison comparison, int rounds, const Measure& measure, const Driver& bare,
                    const Driver& behind) {
  for (int i = 0; i < rounds; ++i) {
    const double first = measure(bare);
    comparison.add(first, measure(behind));
  }
  return comparison;
}

}  // namespace

double mutex_floor() {
  std::mutex mutex;
  std::vector<double> locks;
  locks.reserve(kShortRounds);
  for (int i = 0; i < kShortRounds; ++i) {
    locks.push_back(nanoseconds_each(kPairs, [&] { const std::scoped_lock lock(mutex); }));
  }
  return median(locks);
}

Comparison returned_launches(const Driver& bare, const Driver& behind) {
  const auto measure = [](const Driver& driver) { return launches(driver, driver.launch()); };
  return in_turns({"cuLaunchKernel, returned pointer", "ns", {20, Floor::kMutex, 1}},
                  launch_rounds(bare), measure, bare, behind);
}

Comparison exported_launches(const Driver& bare, const Driver& behind) {
  const auto measure = [](const Driver& driver) {
    return launches(driver, driver.exported_launch());
  };
  return in_turns({"cuLaunchKernel, exported", "ns", {20, Floor::kMutex, 2}}, launch_rounds(bare),
                  measure, bare, behind);
}

Comparison allocations(const Driver& bare, const Driver& behind) {
  const auto measure = [](const Driver& driver) {
    return pairs(driver, driver.has_card() ? kPairsOnCard : kPairs);
  };
  return in_turns({"cuMemAlloc + cuMemFree", "ns", {200, Floor::kMutex, 25}}, kShortRounds, measure,
                  bare, behind);
}

Comparison allocations_of_processes(const Driver& bare, const Driver& behind) {
  return in_turns({"the same, 8 processes", "ns", {1'000, Floor::kMutex, 300}}, kRounds,
                  pairs_of_processes, bare, behind);
}

Comparison allocations_of_threads(const Driver& bare, const Driver& behind) {
  return in_turns({"the same, 8 threads", "ns", {1'000, Floor::kMutex, 300}}, kRounds,
                  pairs_of_threads, bare, behind);
}

}  // namespace tangram::bench
