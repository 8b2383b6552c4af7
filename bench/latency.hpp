#pragma once

#include "base/result.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace tangram::bench {

/// Times of one kind of request, in the order taken.
class Latencies {
 public:
  void add(std::chrono::nanoseconds took) { took_.push_back(took); }
  /// The time that `percent` of the requests do not exceed; zero if there are none.
  [[nodiscard]] std::chrono::nanoseconds percentile(int percent) const;
  [[nodiscard]] std::size_t count() const { return took_.size(); }

 private:
  std::vector<std::chrono::nanoseconds> took_;
};

/// A verb beside its null handler.
struct VerbTimes {
  std::string verb;
  Latencies real;
  Latencies null;
};

/// "verb  p50  null p50  ratio  p99  null p99  ratio", a line each.
[[nodiscard]] std::string latency_table(const std::vector<VerbTimes>& verbs);
/// The same as JSON; times in microseconds.
[[nodiscard]] std::string latency_json(const std::vector<VerbTimes>& verbs);

}  // namespace tangram::bench
