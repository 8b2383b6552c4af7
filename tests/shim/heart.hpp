#pragma once

#include "shim/pages.hpp"

#include <chrono>
#include <stop_token>
#include <thread>

namespace tangram::shim {

/// The heartbeat of an agent, while it exists.
class Heart {
 public:
  explicit Heart(CardLimit& limit) : limit_(limit) {}
  ~Heart() { thread_.request_stop(), thread_.join(); }
  Heart(const Heart&) = delete;
  Heart& operator=(const Heart&) = delete;

 private:
  CardLimit& limit_;
  std::jthread thread_{[this](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      ++limit_.heartbeat;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }};
};

}  // namespace tangram::shim
