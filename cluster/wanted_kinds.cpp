#include "cluster/wanted_kinds.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string_view>
#include <tuple>

namespace tangram::cluster {

namespace {

/// Of pods without a controller the last part differs.
using Key =
    std::tuple<std::string_view, std::string_view, std::string_view, std::int64_t, std::size_t>;

Key key_of(const WantedPod& wanted, std::size_t index) {
  const kube::Pod& pod = *wanted.next.pod;
  const bool alone = pod.controller.kind.empty();
  return {pod.ns, pod.controller.kind, pod.controller.name, wanted.weight, alone ? index + 1 : 0};
}

}  // namespace

std::vector<WantedKind> kinds_of(const std::vector<WantedPod>& wanted,
                                 const std::vector<std::size_t>& waiting) {
  std::vector<WantedKind> kinds;
  std::map<Key, std::vector<std::size_t>> known;  // into `kinds`
  for (const std::size_t i : waiting) {
    std::vector<std::size_t>& similar = known[key_of(wanted[i], i)];
    const auto alike = std::ranges::find_if(similar, [&](std::size_t kind) {
      const WantedPod& first = wanted[kinds[kind].waiting.front()];
      return first.next.plan.demand == wanted[i].next.plan.demand;
    });
    if (alike != similar.end()) {
      kinds[*alike].waiting.push_back(i);
    } else {
      similar.push_back(kinds.size());
      kinds.push_back({.waiting = {i}});
    }
  }
  return kinds;
}

}  // namespace tangram::cluster
