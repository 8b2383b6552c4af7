#pragma once

#include <cstddef>

/// Counts what a program has of operator new: link it, and every allocation of the program is
/// counted. What C code takes by malloc alone is not.
namespace tangram::testing {

/// The most bytes of this thread in use at one time since this was made, beyond those in use then.
/// Threads: one.
class PeakAllocation {
 public:
  PeakAllocation();
  [[nodiscard]] std::size_t bytes() const;

 private:
  std::ptrdiff_t before_;
};

}  // namespace tangram::testing
