#include "extender/background.hpp"

#include "base/sleeper.hpp"

#include <spdlog/spdlog.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

namespace tangram::extender {

namespace {

using SteadyClock = std::chrono::steady_clock;
using std::chrono::milliseconds;

/// A tenth of the share of other threads that want the same core. On Linux this is of the calling
/// thread alone (setpriority(2)), and needs no right.
void give_way() {
  constexpr int kNice = 10;
  const int nice = std::max(kNice, getpriority(PRIO_PROCESS, 0));
  if (setpriority(PRIO_PROCESS, 0, nice) != 0) {
    spdlog::debug("a thread in the background keeps its priority: {}",
                  std::generic_category().message(errno));
  }
}

void run_in_turn(const std::vector<Task>& tasks, const std::stop_token& stop) {
  std::vector<SteadyClock::time_point> due(tasks.size(), SteadyClock::now());
  while (!stop.stop_requested()) {
    const auto start = SteadyClock::now();
    std::vector<std::size_t> done;
    for (std::size_t i = 0; i < tasks.size() && !stop.stop_requested(); ++i) {
      if (due[i] > start) continue;
      tasks[i].run(stop);
      done.push_back(i);
    }
    // Of one moment, so that tasks of equal intervals stay together and in order.
    const auto end = SteadyClock::now();
    for (const std::size_t i : done) due[i] = end + tasks[i].interval;
    const auto wait = *std::min_element(due.begin(), due.end()) - end;
    sleep_until_stopped(std::chrono::ceil<milliseconds>(wait), stop);
  }
}

}  // namespace

void Background::start(std::vector<Task> tasks) {
  const auto repeated = std::stable_partition(tasks.begin(), tasks.end(), [](const Task& task) {
    return task.interval == milliseconds(0);
  });
  for (auto task = tasks.begin(); task != repeated; ++task) {
    spdlog::debug("task \"{}\": runs until it is stopped", task->name);
    threads_.emplace_back(
        [run = std::move(task->run), yields = task->yields](const std::stop_token& stop) {
          if (yields) give_way();
          run(stop);
        });
  }
  std::vector<Task> in_turn(std::make_move_iterator(repeated),
                            std::make_move_iterator(tasks.end()));
  if (in_turn.empty()) return;
  for (const Task& task : in_turn) {
    spdlog::debug("task \"{}\": runs every {} ms", task.name, task.interval.count());
  }
  threads_.emplace_back(
      [in_turn = std::move(in_turn)](const std::stop_token& stop) { run_in_turn(in_turn, stop); });
}

void Background::stop() {
  for (std::jthread& thread : threads_) thread.request_stop();
  threads_.clear();  // joins
}

}  // namespace tangram::extender
