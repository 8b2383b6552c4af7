#include "base/work_queue.hpp"

#include <boost/asio/post.hpp>
#include <spdlog/spdlog.h>

#include <exception>

namespace tangram {

bool WorkQueue::try_post(std::function<void()> task) {
  if (drained_) return false;
  if (under_way_.fetch_add(1) >= limit_) {
    --under_way_;
    under_way_.notify_all();  // wait_until_idle() may have counted this one
    return false;
  }
  boost::asio::post(pool_, [this, task = std::move(task)] {
    run(task);
    --under_way_;
    under_way_.notify_all();
  });
  return true;
}

void WorkQueue::run(const std::function<void()>& task) noexcept {
  try {
    task();
  } catch (const std::exception& error) {
    spdlog::error("a task of the work queue failed: {}", error.what());
  }
}

void WorkQueue::wait_until_idle() {
  for (std::size_t left = under_way_; left != 0; left = under_way_) under_way_.wait(left);
}

void WorkQueue::drain() {
  drained_ = true;
  pool_.join();
}

}  // namespace tangram
