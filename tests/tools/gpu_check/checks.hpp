#pragma once

#include "node/cards/card_source.hpp"
#include "node/isolation/programs.hpp"
#include "tests/tools/gpu_check/report.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace tangram::gpu_check {

/// A source that leaves the cards' compute mode as it is. Threads: safe.
class FixedModeSource final : public node::CardSource {
 public:
  explicit FixedModeSource(node::CardSource& cards) : cards_(cards) {}
  Result<node::Inventory> inventory() override { return cards_.inventory(); }
  Result<std::vector<node::Fault>> wait_for_faults(std::chrono::milliseconds limit) override {
    return cards_.wait_for_faults(limit);
  }
  Result<node::CardActivity> activity(std::string_view card) override {
    return cards_.activity(card);
  }
  Result<void> set_exclusive_process(std::string_view, bool) override { return {}; }

 private:
  node::CardSource& cards_;
};

/// What all checks of a card work with.
struct Setting {
  node::CardSource& source;
  const node::InstalledCard& card;
  const std::string driver;  ///< its version
  node::Programs& programs;
  const std::string build;                  ///< the build tree with the programs and libraries
  const std::string work_dir;               ///< a folder of the check's own
  const std::vector<std::string> runtimes;  ///< programs that print what a CUDA runtime answers
  const std::int64_t lease_seconds;         ///< how long each pair of shares is looked at
  const bool keeps_mode;                    ///< the card's compute mode does not change
  Report& report;
};

/// NVML's inventory is nvidia-smi's.
void check_inventory(const node::Inventory& found, node::Programs& programs, Report& report);

/// Events can be waited for, and the activity of each card can be read.
void check_watching(node::CardSource& source, const node::Inventory& found, Report& report);

/// The means `library`: half of the card is all that programs see and get, by each way to load the
/// driver and by each way to allocate.
void check_library(const Setting& in);

/// The means `library`, as seen from outside: what the driver counts, who evades it, processes that
/// are killed, and limits that change under running processes.
void check_library_from_outside(const Setting& in);

/// A program in a root of its own, with nothing of the driver's there, has the card by what the
/// agent makes of the driver's files.
void check_files(const Setting& in);

/// The means `driver`: tangram-memory-hook on a control group of this machine.
void check_driver_limits(const Setting& in);

/// The means `none`: a program sees the whole card.
void check_no_limits(const Setting& in);

/// Turns of containers that share the card by time, and idle time that is lent.
void check_lease(const Setting& in);

/// What the stand-in driver adds to calls and starts, over this driver.
void check_cost(const Setting& in);

/// MPS as the agent runs it: limits hold, throughput follows the shares, a dead daemon is replaced,
/// nothing gets past it, and the card is given back.
void check_mps(const Setting& in);

/// SM partitions as the agent makes them: throughput follows their chunks, no client computes
/// without one, and a neighbour takes none of it.
void check_partitions(const Setting& in);

/// Two processes take turns, under a slice set as the agent does.
void check_time_slice(const Setting& in);

}  // namespace tangram::gpu_check
