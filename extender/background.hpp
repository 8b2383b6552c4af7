#pragma once

#include <chrono>
#include <functional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

namespace tangram::extender {

/// A piece of the service's own work.
struct Task {
  std::string name;                      ///< what it does, in the log of debug
  std::chrono::milliseconds interval{};  ///< between two runs; 0 = one run, until it is stopped
  std::function<void(const std::stop_token&)> run;
  /// Its thread has a lower priority than those that answer requests: for work whose result no
  /// request waits for. Not for tasks with an interval, which share a thread.
  bool yields = false;
};

/// Runs tasks: each without an interval on a thread of its own, all others on one, one after the
/// other in the order of the list.
class Background {
 public:
  ~Background() { stop(); }
  /// To be called once.
  void start(std::vector<Task> tasks);
  /// Stops all, then waits for them. Safe to repeat.
  void stop();

 private:
  std::vector<std::jthread> threads_;
};

}  // namespace tangram::extender
