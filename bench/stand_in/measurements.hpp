#pragma once

#include "bench/stand_in/comparison.hpp"
#include "bench/stand_in/driver.hpp"

namespace tangram::bench {

/// Floor::kMutex, in nanoseconds.
[[nodiscard]] double mutex_floor();

// Nanoseconds of one call, or of an allocation with its free; with several processes or threads at
// a time, multiplied by the cores that they keep busy.
[[nodiscard]] Comparison returned_launches(const Driver& bare, const Driver& behind);
[[nodiscard]] Comparison exported_launches(const Driver& bare, const Driver& behind);
[[nodiscard]] Comparison allocations(const Driver& bare, const Driver& behind);
[[nodiscard]] Comparison allocations_of_processes(const Driver& bare, const Driver& behind);
[[nodiscard]] Comparison allocations_of_threads(const Driver& bare, const Driver& behind);

// Programs that start, in the current folder: this one as start_once().

/// Loads the library, initialises it, makes the look-ups, and allocates once; the last only by a
/// driver that needs no context for it.
/// @returns the milliseconds that it took up to the first allocation
Result<double> start_once(const char* path, bool allocates);
/// Milliseconds, as start_once() measures them.
Result<Comparison> starts(bool allocates);
/// Seconds until the last of 300 processes has ended that start at once.
Result<Comparison> crowds(bool allocates);

}  // namespace tangram::bench
