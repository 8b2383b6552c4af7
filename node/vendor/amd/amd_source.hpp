#pragma once

#include "base/sleeper.hpp"
#include "node/cards/card_source.hpp"
#include "node/vendor/amd/amd_inventory.hpp"
#include "node/vendor/amd/kernel_files.hpp"
#include "node/vendor/amd/ras.hpp"

#include <chrono>
#include <memory>
#include <mutex>
#include <set>
#include <string>

namespace tangram::node::amd {

/// The cards of a machine with AMD's driver, by the kernel's files: no library, no program. A card
/// in a reset has files that cannot be read, and is left out of the inventory until they can be.
/// Threads: safe.
class AmdSource final : public CardSource {
 public:
  struct Machine {
    std::string host_root;    ///< the folder in which the host's /sys and /proc are
    std::string cgroups;      ///< where cgroup v2 is mounted
    std::string memory_hook;  ///< the image's tangram-memory-hook
    Sleeper sleeper = sleep_until_stopped;
  };
  explicit AmdSource(Machine machine);

  Result<Inventory> inventory() override;
  /// The driver reports no events in files, so its counts of errors are compared with those of the
  /// last call, after the wait.
  Result<std::vector<Fault>> wait_for_faults(std::chrono::milliseconds limit) override;
  Result<CardActivity> activity(std::string_view card) override;
  /// @returns kInvalidArgument: the driver has no such setting
  Result<void> set_exclusive_process(std::string_view card, bool exclusive) override;

 private:
  using Cards = std::shared_ptr<const AmdCards>;
  Result<Cards> read();
  /// As last read, or read now.
  Result<Cards> known();
  void report_left_out(const AmdCards& cards);

  const Machine machine_;
  const KernelFiles files_;
  std::mutex mutex_;                ///< of what follows; not held while files are read
  Cards known_;                     ///< null = not read yet, or the last try failed
  std::set<std::string> left_out_;  ///< reported
  std::mutex waiting_;              ///< one waiter at a time
  RasWatch ras_;                    ///< of the waiter
};

}  // namespace tangram::node::amd
