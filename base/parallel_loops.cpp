#include "base/parallel_loops.hpp"

#include <boost/asio/post.hpp>

#include <exception>
#include <memory>
#include <mutex>
#include <new>

namespace tangram {

namespace {

/// Kept alive by a helper that comes late, which no longer touches the body.
class Loop {
 public:
  Loop(std::size_t turns, const ParallelLoops::Body& body) : turns_(turns), body_(body) {}

  void work(std::size_t worker) {
    for (std::size_t turn = next_++; turn < turns_; turn = next_++) {
      try {
        body_(turn, worker);
      } catch (...) {
        const std::scoped_lock lock(mutex_);
        if (!thrown_) thrown_ = std::current_exception();
      }
      if (++done_ == turns_) done_.notify_all();
    }
  }
  void wait() {
    for (std::size_t done = done_; done != turns_; done = done_) done_.wait(done);
    if (thrown_) std::rethrow_exception(thrown_);
  }

 private:
  const std::size_t turns_;
  const ParallelLoops::Body& body_;
  std::atomic<std::size_t> next_{0};
  std::atomic<std::size_t> done_{0};
  std::mutex mutex_;
  std::exception_ptr thrown_;
};

}  // namespace

void ParallelLoops::run(std::size_t turns, std::size_t most_helpers, const Body& body) {
  const auto loop = std::make_shared<Loop>(turns, body);
  for (std::size_t worker = 1; worker <= most_helpers && take_helper(); ++worker) {
    const auto help = [this, loop, worker] {
      loop->work(worker);
      ++idle_;
    };
    try {
      boost::asio::post(pool_, help);
    } catch (const std::bad_alloc&) {
      ++idle_;  // others may work by now, so the loop has to end as usual
      break;
    }
  }
  loop->work(0);
  loop->wait();
}

bool ParallelLoops::take_helper() {
  std::size_t idle = idle_;
  while (idle > 0 && !idle_.compare_exchange_weak(idle, idle - 1)) {}
  return idle > 0;
}

}  // namespace tangram
