#pragma once

#include "base/required.hpp"
#include "base/result.hpp"
#include "model/grant_reading.hpp"
#include "model/node_state.hpp"
#include "node/pods/pod_requests.hpp"

#include <cstddef>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace tangram::node {

/// What is kept of a kube::Pod, which is 400 bytes larger.
struct NodePod {
  std::string uid;
  std::string ns;
  std::string name;
  std::string node;                              ///< spec.nodeName
  std::vector<model::ContainerInfo> containers;  ///< those with a slot, as in kube::Pod
  bool deleting = false;                         ///< has a deletionTimestamp
  bool finished = false;                         ///< phase Succeeded or Failed

  [[nodiscard]] std::string full_name() const { return ns + "/" + name; }
};

/// A pod of this node: what the agent reads of it, which is little, however large the pod is.
struct LocalPod {
  NodePod pod;
  std::string grant_text;  ///< the annotation; empty = none, or it grants nothing
  /// Decoded, and found to be issued to this very pod for this node; nothing if not.
  std::optional<model::Grant> grant;
  std::string grant_problem;  ///< why not, if there is an annotation
  /// Containers with a slot whose own environment may set PodRules::device_variable (env or
  /// envFrom).
  std::set<std::string, std::less<>> choose_devices;
  /// Of those, the ones with an entry that sets it to PodRules::no_card, as the webhook writes it.
  std::set<std::string, std::less<>> hide_devices;
  bool names_runtime_class = false;
  CardRequests requests;  ///< what Kubernetes counts for it
  /// Of a static pod: the UID by which kubelet knows it. The API server's is that of its mirror.
  /// Empty for a pod that is no mirror of kubelet's, whatever its annotation says.
  std::string kubelet_uid;
  /// Only an outline, because the node's pods take too much memory: it has no containers and no
  /// grant, whatever the pod has.
  bool left_out = false;
};
using LocalPodPtr = std::shared_ptr<const LocalPod>;

/// How a node reads its pods.
struct PodRules {
  std::string node;
  Required<std::string_view> device_variable;  ///< as of VendorRuntime::variable
  Required<std::string_view> no_card;          ///< as of VendorRuntime::no_card
  Required<model::SignatureCheck> check;       ///< as of model::read_grant()
  /// Of all pods together, as of weight_of(); those that a new list replaces are beside, and the
  /// agent has 512 MiB. A pod without a grant is a KiB and one with a share three: there is room
  /// for 20,000 of those, and kubelet's own limit is 110.
  std::size_t most_kept_bytes = std::size_t{64} << 20U;
};

/// Keeps at most model::kMaxGpuContainers containers, none of more: such a pod was never granted
/// anything. Of a grant that does not count it keeps the problem, not the text.
/// @returns kInvalidArgument if the text is no pod
Result<LocalPod> decode_local_pod(std::string text, const PodRules& rules);

/// About how much memory it takes where it is kept, in bytes.
[[nodiscard]] std::size_t weight_of(const LocalPod& local);

/// What stays of a pod that is left out: who it is, so that it does not look gone, and what
/// Kubernetes counts for it.
[[nodiscard]] LocalPod outline_of(const LocalPod& local);

/// Reads a pod's grant for a node: sets grant or grant_problem.
/// @param check  as of model::read_grant()
void read_pod_grant(LocalPod& pod, std::string_view node, const model::SignatureCheck& check);

}  // namespace tangram::node
