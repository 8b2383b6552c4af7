#include "base/sleeper.hpp"

#include <condition_variable>
#include <mutex>
#include <utility>

namespace tangram {

void sleep_until_stopped(std::chrono::milliseconds wait, std::stop_token stop) {
  std::mutex mutex;
  std::condition_variable_any never;
  std::unique_lock lock(mutex);
  never.wait_for(lock, std::move(stop), wait, [] { return false; });
}

}  // namespace tangram
