#pragma once

#include "base/clock.hpp"
#include "base/sleeper.hpp"
#include "node/isolation/programs.hpp"
#include "node/vendor/nvidia/mps_daemon.hpp"

#include <map>
#include <mutex>
#include <string>

namespace tangram::node::nvidia {

/// Into how many chunks a card's multiprocessors divide for SM partitions. That depends on the card
/// and the driver, so an MPS daemon is started, asked, and ended; it has no server and no clients,
/// and leaves the card and other daemons alone. The answer is remembered until the driver changes,
/// a failure for five minutes.
///
/// Threads: safe; one asks at a time.
class SmChunks {
 public:
  SmChunks(MpsSettings settings, Programs& programs, const Clock& clock,
           Sleeper sleeper = sleep_until_stopped);

  /// Takes seconds the first time. @returns 0 if the card or the driver has no SM partitions
  [[nodiscard]] int of(const std::string& card, const std::string& driver);

 private:
  struct Answer {
    std::string driver;
    int chunks = 0;
    TimePoint ask_again;  ///< after a failure
  };

  [[nodiscard]] Result<int> ask(const std::string& card);
  [[nodiscard]] Result<int> ask_daemon(const std::string& card, const std::string& folder);
  Result<ProgramEnd> control(const std::string& folder, const char* line);

  const MpsSettings settings_;
  Programs& programs_;
  const Clock& clock_;
  const Sleeper sleeper_;
  std::mutex mutex_;
  std::map<std::string, Answer> answers_;
};

}  // namespace tangram::node::nvidia
