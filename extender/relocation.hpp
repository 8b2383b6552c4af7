#pragma once

#include "cluster/moves.hpp"
#include "kube/api.hpp"
#include "kube/client.hpp"

#include <chrono>

namespace tangram::extender {

/// How a pod leaves its cards for the place that a plan has for it. By eviction today: its
/// controller makes another pod, which takes the place. A checkpoint that is restored on the other
/// cards can take the place of that. Threads: one at a time.
class Relocation {
 public:
  virtual ~Relocation() = default;
  /// Would the pod go now? Changes nothing.
  [[nodiscard]] virtual kube::EvictionAnswer rehearse(const cluster::Move& move) = 0;
  /// From kEvicted on the pod is on its way, and comes to move.next or to another node.
  [[nodiscard]] virtual kube::EvictionAnswer begin(const cluster::Move& move) = 0;
};

class Evicting final : public Relocation {
 public:
  /// @param api  outlives this
  Evicting(kube::KubeApi& api, std::chrono::milliseconds timeout) : api_(api), timeout_(timeout) {}

  kube::EvictionAnswer rehearse(const cluster::Move& move) override { return evict(move, true); }
  kube::EvictionAnswer begin(const cluster::Move& move) override { return evict(move, false); }

 private:
  [[nodiscard]] kube::EvictionAnswer evict(const cluster::Move& move, bool dry_run) const {
    return kube::evict_pod(api_,
                           {.ns = move.pod->pod_namespace,
                            .name = move.pod->pod_name,
                            .uid = move.pod->pod_uid,
                            .dry_run = dry_run},
                           timeout_);
  }

  kube::KubeApi& api_;
  const std::chrono::milliseconds timeout_;
};

}  // namespace tangram::extender
