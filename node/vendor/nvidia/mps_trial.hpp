#pragma once

#include "node/isolation/programs.hpp"

#include <mutex>
#include <string>
#include <vector>

namespace tangram::node::nvidia {

/// Whether MPS's program can be run as daemons are: by the launcher, from where the driver has it.
/// It is tried until it has run once, since the launcher's pod may start after the agent: a node
/// must not offer what it then refuses. Threads: safe.
class MpsTrial {
 public:
  /// @param launcher  MpsSettings::launcher
  /// @param run_dir   MpsSettings::run_dir
  MpsTrial(Programs& programs, std::vector<std::string> launcher, std::string run_dir)
      : programs_(programs), launcher_(std::move(launcher)), run_dir_(std::move(run_dir)) {}

  /// Takes at most 3 s until it has been so once. Logs what is wrong when that changes.
  [[nodiscard]] bool works();

 private:
  Programs& programs_;
  const std::vector<std::string> launcher_;
  const std::string run_dir_;
  std::mutex mutex_;
  bool works_ = false;
  std::string problem_;  ///< the last one
};

}  // namespace tangram::node::nvidia
