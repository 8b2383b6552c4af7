#pragma once

#include "base/result.hpp"
#include "base/units.hpp"

#include <string_view>

namespace tangram {

/// An amount written the Kubernetes way: "500m", "2", "1.5", "8Gi", "1e3", "128974848".
///
/// Held exactly, in thousand-millionths, as Kubernetes does: the smallest step
/// it knows is 1n. The direction of every rounding is in the name of the call,
/// because what a pod requests must round up and what a machine has must round down.
/// Source of the grammar: k8s.io/apimachinery/pkg/api/resource/quantity.go.
class KubeQuantity {
 public:
  __extension__ using Nanos = __int128;

  constexpr KubeQuantity() = default;
  constexpr explicit KubeQuantity(Nanos nanos) : nanos_(nanos) {}

  /// @returns kInvalidArgument if `text` is not a quantity, is negative, or is
  ///          larger than 2^63-1 (the largest that Kubernetes keeps exactly).
  static Result<KubeQuantity> parse(std::string_view text);

  /// In thousandths: 0.5 -> 500. Parts of a thousandth count as a whole one.
  [[nodiscard]] std::int64_t milli_ceil() const;
  /// In thousandths, parts of a thousandth dropped.
  [[nodiscard]] std::int64_t milli_floor() const;
  /// As bytes, in units of 2^20; a started MiB counts.
  [[nodiscard]] Mebibytes mebibytes_ceil() const;
  /// As bytes, in units of 2^20; a started MiB is dropped.
  [[nodiscard]] Mebibytes mebibytes_floor() const;
  /// Whole units, started ones count: for counted things such as slots.
  [[nodiscard]] std::int64_t units_ceil() const;
  [[nodiscard]] bool is_zero() const { return nanos_ == 0; }
  /// True if the amount is a whole number of thousandths.
  [[nodiscard]] bool is_whole_milli() const;

  friend constexpr auto operator<=>(const KubeQuantity&, const KubeQuantity&) = default;

 private:
  Nanos nanos_ = 0;
};

}  // namespace tangram
