#pragma once

#include "base/result.hpp"
#include "bench/replay/replay.hpp"

#include <string>

namespace tangram::bench {

/// Header "order,pod,node,gpus", one row per arrival; `node` empty = not placed; `gpus` = device
/// indices joined by '-'. For comparing replays.
[[nodiscard]] std::string placement_log(const Trace& trace, const Outcome& outcome);

/// Header "order,arrived_percent,allocated_percent", two decimals, one row per arrival.
[[nodiscard]] std::string curve(const Outcome& outcome);

/// What was run, for the summary.
struct RunLabel {
  std::string policy;
  std::string via;
};

/// {"policy":..,"via":..,"workload":..,"arrivals":..,"placed":..,"dropped":..,
///  "allocated_percent":{"10":..,"20":..},"seconds":..,"valid":..,"violation":..}
/// allocated_percent has the marks at every ten percent of arrived GPU that the trace reaches.
[[nodiscard]] std::string summary_json(const Trace& trace, const Outcome& outcome,
                                       const RunLabel& label);

/// The same as lines of text.
[[nodiscard]] std::string summary_text(const Trace& trace, const Outcome& outcome,
                                       const RunLabel& label);

/// @returns kUnavailable if the file cannot be written in full
Result<void> write_file(const std::string& path, const std::string& text);

}  // namespace tangram::bench
