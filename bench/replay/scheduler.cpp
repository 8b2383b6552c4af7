#include "bench/replay/scheduler.hpp"

#include <fmt/format.h>

#include <charconv>

namespace tangram::bench {

namespace {

constexpr std::string_view kPrefix = "pod-";

}  // namespace

// With leading zeros, so that names are in the order of the numbers.
std::string pod_name(PodNumber number) { return fmt::format("{}{:09}", kPrefix, number); }

PodNumber number_of(std::string_view pod_name) {
  PodNumber number = 0;
  pod_name.remove_prefix(kPrefix.size());
  std::from_chars(pod_name.data(), pod_name.data() + pod_name.size(), number);
  return number;
}

}  // namespace tangram::bench
