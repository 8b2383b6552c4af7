// Processes that start: this program again, with --start.
#include "bench/stand_in/container_folder.hpp"
#include "bench/stand_in/measurements.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <system_error>

namespace tangram::bench {

namespace {

using Clock = std::chrono::steady_clock;

constexpr int kStarts = 41;
constexpr int kCrowds = 5;
constexpr int kCrowdsOnCard = 2;  // a driver with a card takes long to initialise
constexpr int kCrowd = 300;

/// @param output  its stdout
Result<pid_t> spawn(const char* library, bool allocates, int output) {
  std::string name = "tangram-stand-in-cost";
  std::string option = allocates ? "--start" : "--start-only";
  std::string path = library;
  std::array<char*, 4> arguments{name.data(), option.data(), path.data(), nullptr};
  posix_spawn_file_actions_t actions;
  (void)posix_spawn_file_actions_init(&actions);
  (void)posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  pid_t child = 0;
  const int failed =
      posix_spawn(&child, "/proc/self/exe", &actions, nullptr, arguments.data(), environ);
  (void)posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) return fail(Errc::kUnavailable, std::generic_category().message(failed));
  return child;
}

Result<void> wait_for(pid_t child) {
  int status = 0;
  if (waitpid(child, &status, 0) != child || status != 0) {
    return fail(Errc::kUnavailable, "a started process failed");
  }
  return {};
}

/// What a started process prints.
Result<double> start(const char* library, bool allocates) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0)
    return fail(Errc::kUnavailable, std::generic_category().message(errno));
  const auto child = spawn(library, allocates, ends[1]);
  (void)close(ends[1]);
  std::array<char, 64> text{};
  const ssize_t size = child ? read(ends[0], text.data(), text.size() - 1) : 0;
  (void)close(ends[0]);
  if (!child) return child.error();
  if (auto ended = wait_for(*child); !ended) return ended.error();
  if (size <= 0) return fail(Errc::kUnavailable, "a started process printed nothing");
  return std::atof(text.data());
}

Result<double> crowd(const char* library, bool allocates) {
  const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
  const auto begin = Clock::now();
  std::vector<pid_t> children;
  Result<void> result;
  for (int i = 0; i < kCrowd && result; ++i) {
    if (const auto child = spawn(library, allocates, nowhere)) {
      children.push_back(*child);
    } else {
      result = child.error();
    }
  }
  for (const pid_t child : children) {
    if (auto ended = wait_for(child); !ended) result = ended;
  }
  (void)close(nowhere);
  if (!result) return result.error();
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

template <class Measure>
Result<Comparison> in_turns(Comparison comparison, int rounds, bool allocates,
                            const Measure& measure) {
  for (int i = 0; i < rounds; ++i) {
    const auto bare = measure(kBareDriver, allocates);
    if (!bare) return bare.error();
    const auto behind = measure(kStandInDriver, allocates);
    if (!behind) return behind.error();
    comparison.add(*bare, *behind);
  }
  return comparison;
}

}  // namespace

Result<double> start_once(const char* path, bool allocates) {
  const auto lookups = runtime_lookups();
  if (!lookups) return lookups.error();
  const auto begin = Clock::now();
  const auto driver = Driver::start(path, *lookups);
  const std::chrono::duration<double, std::milli> took = Clock::now() - begin;
  if (!driver) return driver.error();
  Driver::CUdeviceptr pointer = 0;
  if (allocates && driver->allocate(&pointer, 1) != 0)
    return fail(Errc::kUnavailable, "cannot allocate");
  return took.count();
}

Result<Comparison> starts(bool allocates) {
  return in_turns({"load, cuInit, 481 look-ups", "ms", {0.3, Floor::kBare, 6}}, kStarts, allocates,
                  start);
}

Result<Comparison> crowds(bool allocates) {
  return in_turns({"300 processes that start at once", "s", {1, Floor::kBare, 2}},
                  allocates ? kCrowds : kCrowdsOnCard, allocates, crowd);
}

}  // namespace tangram::bench
