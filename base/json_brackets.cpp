#include "base/json_brackets.hpp"

#include "base/json_bits.hpp"

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace tangram::json {

namespace {

constexpr std::size_t kBlock = 64;
/// These become braces by it, the square brackets, and nothing else does.
constexpr char kToBraces = 0x20;

/// Where in a block the bytes are by which the end of a value is found: a bit for each byte, the
/// lowest for the first.
struct Marks {
  std::uint64_t quotes = 0;
  std::uint64_t slashes = 0;
  std::uint64_t opening = 0;
  std::uint64_t closing = 0;
};

/// What any processor can do.
struct Plain {
  static constexpr std::size_t kStep = sizeof(Bytes);

  static std::uint64_t bits_where(const char* at, char set, char byte) {
    Bytes bytes;
    std::memcpy(&bytes, at, sizeof bytes);
    return bits_of((bytes | set) == byte);
  }

  /// std::popcount, which calls a function where not every processor has the instruction.
  static int count(std::uint64_t bits) {
    bits -= (bits >> 1U) & 0x5555'5555'5555'5555;
    bits = (bits & 0x3333'3333'3333'3333) + ((bits >> 2U) & 0x3333'3333'3333'3333);
    bits = (bits + (bits >> 4U)) & 0x0f0f'0f0f'0f0f'0f0f;
    return static_cast<int>((bits * 0x0101'0101'0101'0101) >> 56U);
  }
};

/// Inlined, as what follows, for the processor that its caller is compiled for.
/// @tparam Processor  bits_where() marks those of the kStep bytes at `at` that are `byte` with the
///                    bits of `set`; count() is the number of bits
template <class Processor>
[[gnu::always_inline]] inline Marks marks_of(const char* block) {
  Marks marks;
  for (std::size_t at = 0; at < kBlock; at += Processor::kStep) {
    marks.quotes |= Processor::bits_where(block + at, 0, '"') << at;
    marks.slashes |= Processor::bits_where(block + at, 0, '\\') << at;
    marks.opening |= Processor::bits_where(block + at, kToBraces, '{') << at;
    marks.closing |= Processor::bits_where(block + at, kToBraces, '}') << at;
  }
  return marks;
}

/// The bytes behind each backslash that is not itself behind one.
/// @param first  the first byte is; then, the first byte of the next block is
std::uint64_t escaped(std::uint64_t slashes, bool& first) {
  std::uint64_t escaped = first ? 1 : 0;
  first = false;
  for (std::uint64_t rest = slashes & ~escaped; rest != 0;) {
    const std::uint64_t slash = rest & -rest;
    first = slash >> (kBlock - 1) != 0;
    escaped |= slash << 1U;
    rest &= ~(slash | slash << 1U);
  }
  return escaped;
}

/// From each odd bit up to the next one, without that.
std::uint64_t between(std::uint64_t bits) {
  bits ^= bits << 1U;
  bits ^= bits << 2U;
  bits ^= bits << 4U;
  bits ^= bits << 8U;
  bits ^= bits << 16U;
  return bits ^ (bits << 32U);
}

/// Walks over an object or array, a block at a time, from behind its opening bracket on.
template <class Processor>
class Brackets {
 public:
  /// @returns how far it goes into this block, its last one; 0 = it goes on
  [[gnu::always_inline]] std::size_t end_in(const char* block) {
    const Marks marks = marks_of<Processor>(block);
    const std::uint64_t quotes = marks.quotes & ~escaped(marks.slashes, escape_);
    const std::uint64_t strings = between(quotes) ^ in_string_;
    in_string_ = -(strings >> (kBlock - 1));
    std::uint64_t opening = marks.opening & ~strings;
    std::uint64_t closing = marks.closing & ~strings;
    // Neither bracket of an empty pair ends anything, and most that close belong to one.
    const std::uint64_t empty = closing & (opening << 1U);
    opening &= ~(empty >> 1U);
    closing &= ~empty;
    const int closed = Processor::count(closing);
    if (closed < depth_) {
      depth_ += Processor::count(opening) - closed;
      return 0;
    }
    for (std::uint64_t rest = opening | closing; rest != 0; rest &= rest - 1) {
      const int at = std::countr_zero(rest);
      depth_ += 1 - 2 * static_cast<int>((closing >> at) & 1U);
      if (depth_ == 0) return static_cast<std::size_t>(at) + 1;
    }
    return 0;
  }

 private:
  std::int64_t depth_ = 1;
  bool escape_ = false;          ///< the next block's first byte is escaped
  std::uint64_t in_string_ = 0;  ///< all bits: the next block begins inside one
};

template <class Processor>
[[gnu::always_inline]] inline std::size_t find_end(std::string_view text, std::size_t at) {
  Brackets<Processor> brackets;
  for (++at; text.size() - at >= kBlock; at += kBlock) {
    if (const std::size_t end = brackets.end_in(text.data() + at); end != 0) return at + end;
  }
  std::array<char, kBlock> last{};
  std::memcpy(last.data(), text.data() + at, text.size() - at);
  const std::size_t end = brackets.end_in(last.data());
  return end == 0 ? std::string_view::npos : at + end;
}

#if defined(__x86_64__)

struct Avx2 {
  static constexpr std::size_t kStep = sizeof(__m256i);

  [[gnu::target("avx2")]] static std::uint64_t bits_where(const char* at, char set, char byte) {
    __m256i bytes;
    std::memcpy(&bytes, at, sizeof bytes);
    const __m256i same =
        _mm256_cmpeq_epi8(_mm256_or_si256(bytes, _mm256_set1_epi8(set)), _mm256_set1_epi8(byte));
    return static_cast<std::uint32_t>(_mm256_movemask_epi8(same));
  }
  [[gnu::target("popcnt")]] static int count(std::uint64_t bits) { return std::popcount(bits); }
};

[[gnu::target("avx2,popcnt")]] std::size_t end_by_avx2(std::string_view text, std::size_t at) {
  return find_end<Avx2>(text, at);
}

bool has_avx2() {
  return __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("popcnt") != 0;
}

#endif

}  // namespace

std::size_t end_of_container(std::string_view text, std::size_t at) {
#if defined(__x86_64__)
  static const bool kHasAvx2 = has_avx2();
  if (kHasAvx2) return end_by_avx2(text, at);
#endif
  return end_of_container_without_avx2(text, at);
}

std::size_t end_of_container_without_avx2(std::string_view text, std::size_t at) {
  return find_end<Plain>(text, at);
}

}  // namespace tangram::json
