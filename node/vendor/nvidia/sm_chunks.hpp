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
/// and the driver, so an MPS daemon is asked: the card's own one if it runs, else one that is
/// started for it, has neither server nor clients, and is ended. The answer is kept for later
/// agents, until the driver changes or the node boots; after a failure it is asked for again in
/// five minutes, and a number that was known stays.
///
/// Threads: safe; one asks at a time.
class SmChunks {
 public:
  SmChunks(MpsSettings settings, Programs& programs, const Clock& clock,
           Sleeper sleeper = sleep_until_stopped);

  /// Takes seconds the first time.
  /// @param driver  its version; "" = not known now
  /// @returns 0 if the card or the driver has no SM partitions, or none are known
  [[nodiscard]] int of(const std::string& card, const std::string& driver);

 private:
  struct Answer {
    std::string driver;  ///< of this version; "" = never asked
    int chunks = 0;
    bool settled = false;  ///< the daemon said so
    TimePoint ask_again;   ///< if not
  };

  [[nodiscard]] Answer recorded(const std::string& card) const;
  void record(const std::string& card, const Answer& answer) const;
  /// @returns kInvalidArgument if it has none; any other error: not known now
  [[nodiscard]] Result<int> ask(const std::string& card);
  [[nodiscard]] Result<int> ask_another(const std::string& card);
  [[nodiscard]] Result<int> start_and_ask(const std::string& card, const std::string& folder);
  Result<ProgramEnd> control(const std::string& daemon_folder, const char* line);

  const MpsSettings settings_;
  Programs& programs_;
  const Clock& clock_;
  const Sleeper sleeper_;
  std::mutex mutex_;
  std::map<std::string, Answer> answers_;
};

}  // namespace tangram::node::nvidia
