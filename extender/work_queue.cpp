#include "extender/work_queue.hpp"

#include <boost/asio/post.hpp>

namespace tangram::extender {

bool WorkQueue::try_post(std::function<void()> task) {
  if (under_way_.fetch_add(1) >= limit_) {
    --under_way_;
    return false;
  }
  boost::asio::post(pool_, [this, task = std::move(task)] {
    task();
    --under_way_;
  });
  return true;
}

}  // namespace tangram::extender
