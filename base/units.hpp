#pragma once

#include <compare>
#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>

namespace tangram {

/// A whole count of one unit. The tag keeps memory and compute from mixing, and
/// names the unit when the value is printed.
template <class Tag>
class Quantity {
 public:
  constexpr Quantity() = default;
  constexpr explicit Quantity(std::int64_t count) : count_(count) {}

  [[nodiscard]] constexpr std::int64_t count() const { return count_; }

  friend constexpr auto operator<=>(const Quantity&, const Quantity&) = default;
  friend constexpr Quantity operator+(Quantity a, Quantity b) {
    return Quantity(a.count_ + b.count_);
  }
  friend constexpr Quantity operator-(Quantity a, Quantity b) {
    return Quantity(a.count_ - b.count_);
  }
  friend std::ostream& operator<<(std::ostream& out, Quantity q) {
    return out << q.count_ << Tag::kSuffix;
  }
  /// "8192MiB": for messages that name the numbers.
  friend std::string to_string(Quantity q) { return std::to_string(q.count_).append(Tag::kSuffix); }

  constexpr Quantity& operator+=(Quantity other) { return *this = *this + other; }
  constexpr Quantity& operator-=(Quantity other) { return *this = *this - other; }

 private:
  std::int64_t count_ = 0;
};

struct MebibytesTag {
  static constexpr std::string_view kSuffix = "MiB";
};
struct MilliGpuTag {
  static constexpr std::string_view kSuffix = "mGPU";
};
struct MilliCpuTag {
  static constexpr std::string_view kSuffix = "mCPU";
};

using Mebibytes = Quantity<MebibytesTag>;  ///< memory of a card or a node, 2^20 bytes
using MilliGpu = Quantity<MilliGpuTag>;    ///< compute share, 1000 = one card
using MilliCpu = Quantity<MilliCpuTag>;    ///< CPU of a node, 1000 = one core

inline constexpr MilliGpu kWholeGpu{1000};

namespace literals {
consteval Mebibytes operator""_mib(unsigned long long n) {
  return Mebibytes(static_cast<std::int64_t>(n));
}
consteval MilliGpu operator""_mgpu(unsigned long long n) {
  return MilliGpu(static_cast<std::int64_t>(n));
}
consteval MilliCpu operator""_mcpu(unsigned long long n) {
  return MilliCpu(static_cast<std::int64_t>(n));
}
}  // namespace literals

}  // namespace tangram
