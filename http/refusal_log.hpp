#pragma once

#include <spdlog/spdlog.h>

#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
#include <utility>

namespace tangram::http {

/// Logs why clients get no connection: one line per interval, however many fail.
/// Threads: safe.
class RefusalLog {
 public:
  /// Often enough to set things up by, too seldom to fill a disk.
  static constexpr std::chrono::seconds kInterval{10};

  void report(const std::string& peer, const std::string& why) {
    const auto now = std::chrono::steady_clock::now();
    std::uint64_t unreported = 0;
    {
      const std::scoped_lock lock(mutex_);
      if (now < next_) {
        ++unreported_;
        return;
      }
      next_ = now + kInterval;
      unreported = std::exchange(unreported_, 0);
    }
    const std::string others =
        unreported == 0 ? "" : "; " + std::to_string(unreported) + " more since the last such line";
    spdlog::warn("a client at {} got no connection: {}{}",
                 peer.empty() ? "an unknown address" : peer, why, others);
  }

 private:
  std::mutex mutex_;
  std::chrono::steady_clock::time_point next_;
  std::uint64_t unreported_ = 0;
};

}  // namespace tangram::http
