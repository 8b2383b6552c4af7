#pragma once

#include "base/result.hpp"

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace tangram::bench::demo {

/// "mem=8Gi compute=0.4": the annotations that begin with `prefix`, in their order.
template <class Annotations>
std::string request_text(const Annotations& annotations, std::string_view prefix) {
  std::string text;
  for (const auto& [name, value] : annotations) {
    if (!name.starts_with(prefix)) continue;
    text += (text.empty() ? "" : " ") + name.substr(prefix.size()) + "=" + value;
  }
  return text;
}

/// A kind of pod: a manifest for kubectl create.
struct PodKind {
  std::string ns;
  std::string name;  ///< generateName without the dash at its end
  std::string json;
  std::string request;       ///< its tangram.dev/gpu-… annotations: "mem=8Gi compute=0.4"
  std::uint64_t weight = 1;  ///< how often it arrives, relative to other kinds
  int lifetime = 1;          ///< rounds that such a pod runs, on average
};

inline constexpr std::uint64_t kMaxWeight = 1'000'000;  // their sum stays far from overflow
inline constexpr int kMaxLifetime = 1'000'000;

/// Reads Pods with the annotations demo.tangram.dev/weight and demo.tangram.dev/lifetime.
/// @returns kInvalidArgument, with the line and what to write
Result<std::vector<PodKind>> read_pod_kinds(const std::string& yaml);

/// Which kinds arrive, in which order, and for how long. The same seed gives the same arrivals on
/// every machine, because the standard library's distributions are not used.
class Arrivals {
 public:
  /// @param kinds  outlives it; not empty
  Arrivals(const std::vector<PodKind>& kinds, std::uint64_t seed);

  struct Arrival {
    std::size_t kind = 0;
    int lifetime = 1;  ///< rounds; half of the kind's to one and a half
  };
  /// First every kind once, in random order; then by weight.
  [[nodiscard]] Arrival next();

 private:
  [[nodiscard]] std::uint64_t below(std::uint64_t bound);

  const std::vector<PodKind>& kinds_;
  std::mt19937_64 random_;
  std::vector<std::size_t> first_;  ///< kinds that have not arrived yet
  std::uint64_t weights_ = 0;
};

}  // namespace tangram::bench::demo
