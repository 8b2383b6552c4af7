#pragma once

#include "base/required.hpp"
#include "base/result.hpp"
#include "node/cards/card_source.hpp"
#include "node/kubelet/checkpoint.hpp"
#include "node/pods/local_pods.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace tangram::node {

/// Is this the default name of a resource of a vendor's own device plugin, such as NVIDIA's
/// nvidia.com/gpu, its time-sliced form nvidia.com/gpu.shared, or its MIG instances,
/// nvidia.com/mig-1g.10gb; AMD's amd.com/gpu, or its compute partitions, amd.com/cpx_nps4?
[[nodiscard]] bool is_other_plugins_gpu(std::string_view resource);

/// Is a device, by its id in kubelet's record, this card or a part of it? NVIDIA's plugin names its
/// devices by the cards' UUIDs, and replicas of one "GPU-a::1"; others write "GPU-a-1".
[[nodiscard]] bool is_of_card(std::string_view device, std::string_view card);

/// Through which resources of other device plugins pods have cards of this node: by kubelet's
/// record of what it allocated. A plugin's configuration can give its resources any name, so one
/// counts also if a device of it is a card of this node. What a pod requests says nothing: any pod
/// author can name this node and a resource that it does not have, which kubelet ignores. Threads:
/// safe.
class OtherPlugins {
 public:
  struct Parts {
    /// Kubelet's checkpoint, now.
    /// @returns kNotFound before kubelet's first allocation
    Required<std::function<Result<Checkpoint>()>> checkpoint;
    const PodSource& pods;
    Required<std::function<CardsPtr()>> cards;  ///< of this node
    /// As of Processes::pods(), which reads all of /proc. The API server may not have such a pod
    /// any more.
    Required<std::function<std::map<std::string, std::int64_t>()>> with_process;
  };
  explicit OtherPlugins(Parts parts);

  /// Kubelet keeps an entry until the next allocation: one counts while its pod lives.
  /// @returns nothing if it is not known yet; the last answer if the checkpoint cannot be read
  [[nodiscard]] std::optional<std::set<std::string>> in_use();

 private:
  const Parts parts_;
  std::mutex mutex_;
  std::optional<std::set<std::string>> known_;  ///< under mutex_
};

}  // namespace tangram::node
