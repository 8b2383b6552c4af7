#pragma once

#include "base/result.hpp"
#include "bench/objects.hpp"
#include "kube/api.hpp"
#include "model/grant.hpp"

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace tangram::bench::demo {

/// A large cluster that is busy already, to look at: nodes of eight cards of several models, a few
/// of them broken or withheld, and pods of many sizes and namespaces on them. Nobody asks where
/// they should go: each is bound by the crowd itself, with a grant, wherever its dice fall.
///
/// The same seed gives the same cluster. Threads: one at a time.
class Crowd {
 public:
  static constexpr std::size_t kCardsPerNode = 8;

  /// @param api  outlives it
  Crowd(kube::KubeApi& api, std::size_t nodes, std::uint64_t seed);

  /// Makes nodes and pods. Takes some seconds for thousands of nodes.
  Result<void> fill();
  /// On some cards a pod ends and others come.
  Result<void> change(std::size_t cards);

  [[nodiscard]] std::size_t cards() const { return cards_.size(); }
  [[nodiscard]] std::size_t pods() const { return pods_; }

 private:
  struct Guest {
    std::string_view ns;
    std::string name;
    model::GrantedCard share;
  };
  struct Place {
    std::size_t node = 0;
    std::string uuid;
    Mebibytes free_memory;
    MilliGpu free_compute;
    bool open = true;  ///< takes new pods
    std::vector<Guest> guests;
  };

  Result<void> add_node(std::size_t number);
  Result<void> add_waiting_pods();
  /// Pods until the random numbers, or the card, say that it is enough.
  Result<void> fill_card(Place& place);
  Result<void> admit(Place& place, std::string_view ns, Mebibytes memory, MilliGpu compute);
  Result<void> end_one(Place& place);
  [[nodiscard]] std::size_t below(std::size_t bound) { return random_() % bound; }

  kube::KubeApi& api_;
  const std::size_t nodes_;
  std::mt19937_64 random_;
  std::vector<Place> cards_;
  std::size_t pods_ = 0;
  std::size_t named_ = 0;  ///< pods so far: their names differ
};

}  // namespace tangram::bench::demo
