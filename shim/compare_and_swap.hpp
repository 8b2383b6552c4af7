#pragma once

#include <atomic>
#include <cstdint>

namespace tangram::shim {

/// Two words that stand side by side, at an address that 16 divides.
struct TwoWords {
  std::uint64_t first;
  std::uint64_t second;
};

/// Replaces both words at once if they are as expected. std::atomic has no such operation without
/// libatomic, which images need not have.
inline bool compare_and_swap(std::atomic<std::uint64_t>& first, TwoWords expected,
                             TwoWords desired) {
#if defined(__x86_64__)
  bool swapped = false;
  // NOLINTNEXTLINE(hicpp-no-assembler): the instruction is the point
  __asm__ __volatile__("lock cmpxchg16b %1"
                       : "=@ccz"(swapped), "+m"(*reinterpret_cast<TwoWords*>(&first)),
                         "+a"(expected.first), "+d"(expected.second)
                       : "b"(desired.first), "c"(desired.second)
                       : "memory");
  return swapped;
#else
#error "compare_and_swap() of two words is written for x86-64 only"
#endif
}

}  // namespace tangram::shim
