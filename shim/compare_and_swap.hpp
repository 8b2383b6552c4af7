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
#elif defined(__aarch64__)
  // What was read in two halves counts as read at once only if the store succeeds. Where the words
  // differ from what is expected nothing is stored: they differed at one moment between both
  // halves, too.
  auto* const words = reinterpret_cast<TwoWords*>(&first);
  std::uint64_t found_first = 0;
  std::uint64_t found_second = 0;
  std::uint32_t failed = 0;
  // NOLINTNEXTLINE(hicpp-no-assembler): the instruction is the point
  __asm__ __volatile__(
      "1: ldaxp %0, %1, %3\n"
      "   cmp %0, %4\n"
      "   ccmp %1, %5, #0, eq\n"
      "   b.ne 2f\n"
      "   stlxp %w2, %6, %7, %3\n"
      "   cbnz %w2, 1b\n"
      "   b 3f\n"
      "2: clrex\n"
      "3:\n"
      : "=&r"(found_first), "=&r"(found_second), "=&r"(failed), "+Q"(*words)
      : "r"(expected.first), "r"(expected.second), "r"(desired.first), "r"(desired.second)
      : "cc", "memory");
  return found_first == expected.first && found_second == expected.second;
#else
#error "compare_and_swap() of two words is written for x86-64 and aarch64 only"
#endif
}

}  // namespace tangram::shim
