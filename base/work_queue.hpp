#pragma once

#include <boost/asio/thread_pool.hpp>

#include <atomic>
#include <cstddef>
#include <functional>

namespace tangram {

/// A pool of threads for work that blocks, with a bounded queue before it: more than workers +
/// queue tasks at once are refused, so that a slow API server is felt by the caller and not as
/// memory. Threads: safe.
class WorkQueue {
 public:
  WorkQueue(std::size_t workers, std::size_t queue) : limit_(workers + queue), pool_(workers) {}
  ~WorkQueue() { drain(); }

  /// What the task throws is logged. @returns false if the queue is full or drained; the task has
  /// not been taken then
  bool try_post(std::function<void()> task);

  /// Waits until all tasks that were taken are done; takes more meanwhile.
  void wait_until_idle();

  /// Waits until all tasks are done; takes no more afterwards.
  void drain();

 private:
  static void run(const std::function<void()>& task) noexcept;

  const std::size_t limit_;
  std::atomic<std::size_t> under_way_{0};
  std::atomic<bool> drained_{false};
  boost::asio::thread_pool pool_;
};

}  // namespace tangram
