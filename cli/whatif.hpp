#pragma once

#include "cli/cluster.hpp"
#include "cli/manifests.hpp"
#include "cli/preemption.hpp"
#include "cli/screen.hpp"
#include "cli/simulation.hpp"
#include "cli/webhook.hpp"

#include <string>
#include <vector>

/// `whatif`: where pods would go that do not exist yet.
namespace tangram::cli {

/// The result for one pod.
struct WhatIf {
  enum class Fate {
    kPlaced,
    kPreempts,  ///< placed, once pods of lower priority have been evicted
    kWaits,
    /// Invalid annotations, a node of its own choice, or a container without its slot: the webhook
    /// would reject or mend it.
    kRefused,
    kNoGpu,  ///< kube-scheduler places it alone
  };
  std::string ns;
  std::string name;
  std::string request = {};  ///< "0.5"
  Fate fate = Fate::kNoGpu;
  Placed place = {};                      ///< if placed
  std::vector<std::string> victims = {};  ///< "ml/p (priority 0)"
  std::string why = {};                   ///< why not, otherwise
};

/// Places the pods in their order, each after those before it.
/// @param webhook  where it is not missing, containers that request cards get the slots they lack
/// @param facts    null: no pod is evicted
[[nodiscard]] std::vector<WhatIf> what_if(const Cluster& cluster, Manifests manifests,
                                          Webhook webhook, const PreemptionFacts* facts = nullptr);

/// Every pod that requests a card would get one.
[[nodiscard]] bool all_placed(const std::vector<WhatIf>& pods);

/// @param wide  whole UUIDs
[[nodiscard]] std::string draw_whatif(const Screen& screen, const std::vector<WhatIf>& pods,
                                      bool wide);
/// {"pods": [{"namespace", "name", "request", "fate", "node", "containers": [{"name", "cards":
/// [{"uuid", "memMiB", "milli"}]}], "victims", "why"}], "allPlaced"}
[[nodiscard]] std::string whatif_json(const std::vector<WhatIf>& pods);

}  // namespace tangram::cli
