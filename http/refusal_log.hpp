#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>

namespace tangram::http {

/// Says in the log why clients get no connection: one line now and then, whatever is sent.
/// Threads: safe.
class RefusalLog {
 public:
  /// Often enough for who sets things up and looks, too seldom to fill a disk.
  static constexpr std::chrono::seconds kInterval{10};

  void report(const std::string& peer, const std::string& why);

 private:
  std::mutex mutex_;
  std::chrono::steady_clock::time_point next_;
  std::uint64_t untold_ = 0;
};

}  // namespace tangram::http
