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

/// A large cluster in use, to look at: nodes of eight cards of several models, a few of them
/// unhealthy or cordoned, with pods of many sizes and namespaces. No scheduler places the pods:
/// this class binds each one itself, with a grant, to a random card.
///
/// The same seed gives the same cluster. Threads: one at a time.
class BusyCluster {
 public:
  static constexpr std::size_t kCardsPerNode = 8;

  /// @param api  outlives it
  BusyCluster(kube::KubeApi& api, std::size_t nodes, std::uint64_t seed);

  /// Makes nodes and pods. Takes some seconds for thousands of nodes.
  Result<void> fill();
  /// On some cards a pod ends and others come.
  Result<void> change(std::size_t cards);

  [[nodiscard]] std::size_t cards() const { return cards_.size(); }
  [[nodiscard]] std::size_t pods() const { return pods_; }

 private:
  struct RunningPod {
    std::string_view ns;
    std::string name;
    model::GrantedCard share;
  };
  struct CardInUse {
    std::size_t node = 0;
    std::string uuid;
    Mebibytes free_memory;
    MilliGpu free_compute;
    bool open = true;  ///< takes new pods
    std::vector<RunningPod> pods;
  };

  Result<void> add_node(std::size_t number);
  Result<void> add_waiting_pods();
  /// Adds a random number of pods, as far as the card has room.
  Result<void> fill_card(CardInUse& card);
  Result<void> admit(CardInUse& card, std::string_view ns, Mebibytes memory, MilliGpu compute);
  /// Creates the pod and binds it to the node with a grant.
  Result<void> create_bound(const PodSpec& spec, const std::string& node,
                            const model::GrantedCard& share);
  Result<void> end_one(CardInUse& card);
  [[nodiscard]] std::size_t below(std::size_t bound) { return random_() % bound; }

  kube::KubeApi& api_;
  const std::size_t nodes_;
  std::mt19937_64 random_;
  std::vector<CardInUse> cards_;
  std::size_t pods_ = 0;
  std::size_t named_ = 0;  ///< pods so far: their names differ
};

}  // namespace tangram::bench::demo
