#include "http/refusal_log.hpp"

#include <spdlog/spdlog.h>

#include <utility>

namespace tangram::http {

void RefusalLog::report(const std::string& peer, const std::string& why) {
  const auto now = std::chrono::steady_clock::now();
  std::uint64_t untold = 0;
  {
    const std::scoped_lock lock(mutex_);
    if (now < next_) {
      ++untold_;
      return;
    }
    next_ = now + kInterval;
    untold = std::exchange(untold_, 0);
  }
  const std::string others =
      untold == 0 ? "" : "; " + std::to_string(untold) + " more since the last such line";
  spdlog::warn("a client at {} got no connection: {}{}", peer.empty() ? "an unknown address" : peer,
               why, others);
}

}  // namespace tangram::http
