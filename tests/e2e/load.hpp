#pragma once

#include "tests/e2e/cluster.hpp"
#include "tests/e2e/pod_watcher.hpp"

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace tangram::e2e {

/// Creates and deletes pods all the time, at most `pods` at once, so that a fault hits every verb.
/// Continues after errors of the API server.
/// Threads: its own; the calls from one.
class Load {
 public:
  Load(Cluster& cluster, PodWatcher& watcher, int pods);
  ~Load();
  Load(const Load&) = delete;
  Load& operator=(const Load&) = delete;

  /// Blocks until nothing is created or deleted any more.
  void pause();
  void resume();

 private:
  void run(const std::stop_token& stop);
  void turn_over();

  Cluster& cluster_;
  PodWatcher& watcher_;
  const int target_;
  int made_ = 0;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  bool paused_ = false;
  bool resting_ = false;
  std::jthread thread_;
};

}  // namespace tangram::e2e
