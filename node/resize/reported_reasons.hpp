#pragma once

#include "base/clock.hpp"

#include <chrono>
#include <map>
#include <string>

namespace tangram::node {

/// Why something waits, by allocation, as far as it was reported. A reason is reported once, and
/// another one of the same allocation a minute later at the earliest. A reason that comes and goes
/// within a minute stays the same one.
/// Threads: one at a time.
class ReportedReasons {
 public:
  static constexpr std::chrono::minutes kBetween{1};

  /// Takes note that the reason holds now.
  /// @returns whether it is to be reported
  bool is_due(const std::string& allocation, const std::string& reason, TimePoint now);

 private:
  struct Reported {
    std::string reason;
    TimePoint at;
    TimePoint last_seen;  ///< whatever the reason was then
  };
  std::map<std::string, Reported> reported_;  ///< by allocation
};

}  // namespace tangram::node
