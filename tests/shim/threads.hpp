#pragma once

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <utility>

namespace tangram::shim {

/// A thread of which one can see that it waits for something: a lock, say.
class Aside {
 public:
  template <class Work>
  explicit Aside(Work work)
      : state_(std::make_shared<State>()), thread_([state = state_, work = std::move(work)] {
          state->id = static_cast<int>(syscall(SYS_gettid));
          work();
          state->done = true;
        }) {}

  /// Returns when it is asleep, or has ended.
  void wait_until_it_waits() const {
    while (!state_->done && !sleeps()) (void)sched_yield();
  }
  void join() { thread_.join(); }
  /// Nobody will join it.
  void leave() { thread_.detach(); }

 private:
  struct State {
    std::atomic<int> id{0};
    std::atomic<bool> done{false};
  };
  [[nodiscard]] bool sleeps() const {
    if (state_->id == 0) return false;
    std::ifstream file("/proc/self/task/" + std::to_string(state_->id) + "/stat");
    std::string text;
    std::getline(file, text);
    const auto end = text.rfind(')');  // of the name; the state follows
    return end != std::string::npos && end + 2 < text.size() && text[end + 2] == 'S';
  }

  std::shared_ptr<State> state_;
  std::thread thread_;
};

}  // namespace tangram::shim
