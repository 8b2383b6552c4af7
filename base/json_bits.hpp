#pragma once

#include <bit>
#include <cstdint>
#if defined(__SSE2__)
#include <immintrin.h>
#else
#include <array>
#endif

/// Bytes of a text as bits, for those who look at many at a time. Internal to json_scan and
/// json_brackets.
namespace tangram::json {

static_assert(std::endian::native == std::endian::little, "the first byte is the lowest");

/// Sixteen at a time: an extension of GCC and Clang, for any processor.
using Bytes = std::int8_t __attribute__((vector_size(16)));

/// A bit for each byte, the lowest for the first.
/// @param marks  0 or -1 each, as comparisons of Bytes give
[[nodiscard, gnu::always_inline]] inline std::uint64_t bits_of(Bytes marks) {
#if defined(__SSE2__)
  return static_cast<std::uint32_t>(_mm_movemask_epi8(std::bit_cast<__m128i>(marks)));
#else
  // Every byte keeps a bit of its own, and the highest byte of the product is their sum.
  const auto collect = [](std::uint64_t word) {
    return ((word & 0x8040'2010'0804'0201) * 0x0101'0101'0101'0101) >> 56U;
  };
  const auto words = std::bit_cast<std::array<std::uint64_t, 2>>(marks);
  return collect(words[0]) | (collect(words[1]) << 8U);
#endif
}

}  // namespace tangram::json
