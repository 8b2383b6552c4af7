#pragma once

#include "node/cards/card_source.hpp"
#include "node/isolation/programs.hpp"
#include "tests/tools/gpu_check/report.hpp"

#include <string>

namespace tangram::gpu_check {

/// NVML's inventory is nvidia-smi's.
void check_inventory(const node::Inventory& found, node::Programs& programs, Report& report);

/// Events can be waited for, and the activity of each card can be read.
void check_watching(node::CardSource& source, const node::Inventory& found, Report& report);

/// MPS as the agent runs it: limits hold, throughput follows the shares, a dead daemon is replaced,
/// nothing gets past it, and the card is given back. @param work_dir a folder of this check's own
void check_mps(node::CardSource& source, const node::InstalledCard& card, node::Programs& programs,
               const std::string& work_dir, Report& report);

/// Two processes take turns, under a slice set as the agent does.
void check_time_slice(node::CardSource& source, const node::InstalledCard& card,
                      node::Programs& programs, Report& report);

}  // namespace tangram::gpu_check
