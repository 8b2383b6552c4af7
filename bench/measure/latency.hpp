#pragma once

#include "base/result.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace tangram::bench {

[[nodiscard]] inline double millis(std::chrono::nanoseconds time) {
  return static_cast<double>(time.count()) / 1e6;
}

/// Times of one kind of request, in the order taken.
class Latencies {
 public:
  void add(std::chrono::nanoseconds took) { took_.push_back(took); }
  /// Adds how long `request()` takes. @returns its reply
  template <class Request>
  auto time(const Request& request) {
    const auto start = std::chrono::steady_clock::now();
    auto reply = request();
    add(std::chrono::steady_clock::now() - start);
    return reply;
  }
  /// The time that `percent` of the requests do not exceed; zero if there are none.
  [[nodiscard]] std::chrono::nanoseconds percentile(int percent) const;
  [[nodiscard]] std::size_t count() const { return took_.size(); }
  [[nodiscard]] const std::vector<std::chrono::nanoseconds>& all() const { return took_; }

 private:
  std::vector<std::chrono::nanoseconds> took_;
};

/// A verb beside its null handler.
struct VerbTimes {
  std::string verb;
  Latencies real = {};
  Latencies null = {};  ///< of the same requests, in the same order

  /// The median of the ratios of each request to the null handler's of the same request: where
  /// small and large replies take turns, the medians of the two sides lie at different requests.
  [[nodiscard]] double paired_ratio() const;
};

/// How a figure changed while it was measured again and again: the median of the last third beside
/// that of the first third. @returns the ratio; 0 if nothing was measured, or zeros at first
[[nodiscard]] double drift(const std::vector<double>& values);

/// "verb  p50  null p50  ratio  paired ratio  p99  null p99  ratio", a line each.
[[nodiscard]] std::string latency_table(const std::vector<VerbTimes>& verbs);
/// The same as JSON; times in microseconds.
[[nodiscard]] std::string latency_json(const std::vector<VerbTimes>& verbs);

}  // namespace tangram::bench
