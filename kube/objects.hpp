#pragma once

#include "base/json.hpp"
#include "base/result.hpp"
#include "model/node_state.hpp"
#include "model/request.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace tangram::kube {

struct PodManifest;

/// The object that keeps a pod running: the owner reference with controller: true.
struct Controller {
  std::string kind;  ///< "ReplicaSet"; of a static pod's mirror "Node"; empty = no controller
  std::string name;
  friend bool operator==(const Controller&, const Controller&) = default;
};

/// The group whose pods are to run together.
struct GroupOfPod {
  enum class Kind {
    kNone,
    /// A PodGroup of Kubernetes (spec.schedulingGroup): kube-scheduler places all members in one
    /// attempt, and binds them at once or not at all.
    kPodGroup,
    /// By a label of the coscheduling plugin: each member keeps its node until enough have one.
    kCoscheduling,
    /// By Kueue's label: Kueue admits the group, then each member is placed by itself.
    kKueue
  };
  Kind kind = Kind::kNone;
  std::string name;  ///< in the pod's namespace
  friend bool operator==(const GroupOfPod&, const GroupOfPod&) = default;
};

/// Why a container waits, as kubelet says.
struct Waiting {
  std::string reason;
  std::string message;
  friend bool operator==(const Waiting&, const Waiting&) = default;
};

/// A v1.Pod, as far as scheduling GPUs needs it.
struct Pod {
  std::string uid;
  std::string ns;
  std::string name;
  std::string resource_version;
  model::Annotations annotations;  ///< those under model::kPrefix, without the prefix
  model::Labels labels;            ///< all of them
  std::vector<model::ContainerInfo>
      containers;               ///< app containers, then sidecars, then ordinary init containers
  model::Footprint footprint;   ///< Kubernetes' rule: see pod_footprint() in resources.hpp
  std::string node;             ///< spec.nodeName; empty = not bound
  std::string scheduler;        ///< spec.schedulerName
  std::string nominated_node;   ///< status.nominatedNodeName
  int priority = 0;             ///< spec.priority
  bool never_preempts = false;  ///< spec.preemptionPolicy: Never
  bool deleting = false;        ///< has a deletionTimestamp
  bool finished = false;        ///< phase Succeeded or Failed: has no allocation any more
  bool gated = false;           ///< has scheduling gates
  bool tried = false;           ///< has a PodScheduled condition: a scheduler knows the pod
  bool started = false;         ///< one of its containers runs, or has run
  /// Uses volume or resource claims, or waits for others of its group: kube-scheduler may wait for
  /// those after it has chosen a node.
  bool binds_late = false;
  /// Changes with what its PodScheduled condition says while that is False: an attempt to place it
  /// has failed. 0 = it says nothing.
  std::uint64_t refusal = 0;
  GroupOfPod group;
  Controller controller;
  /// Names of the containers that run or have run, as only kubelet knows.
  std::vector<std::string> ran;
  /// status.*.state.waiting of the containers that have a message; the message as one_line()
  std::vector<Waiting> waiting;

  [[nodiscard]] std::string full_name() const { return ns + "/" + name; }
  friend bool operator==(const Pod&, const Pod&) = default;
};

/// A v1.Node, as far as scheduling GPUs needs it.
struct Node {
  std::string name;
  std::string resource_version;
  model::Annotations annotations;  ///< those under model::kPrefix, without the prefix
  MilliCpu cpu;                    ///< status.allocatable, rounded down
  Mebibytes memory;                ///< status.allocatable, rounded down
  int slots = 0;                   ///< status.allocatable of model::kSlotResource
};

/// Read one object where the reader stands. Members that are not needed are skipped, unknown ones
/// included; a member of the wrong type makes the reader fail.
/// @param manifest  if not null, filled in the same pass; it costs time and memory
[[nodiscard]] Pod read_pod(json::Reader& in, PodManifest* manifest = nullptr);
[[nodiscard]] Node read_node(json::Reader& in);
/// Annotations under model::kPrefix, without the prefix.
[[nodiscard]] model::Annotations read_own_annotations(json::Reader& in);
/// The name alone, of any object: cheap for long lists of full objects.
[[nodiscard]] std::string_view read_object_name(json::Reader& in);

/// All that read_pod() reads without a manifest.
[[nodiscard]] std::vector<json::Outline::Member> pod_outline();

/// Whole texts, as the API server returns them: a pod must have uid, namespace and name, a node a
/// name. What is not read may be anything: see json::Outline.
/// @returns kInvalidArgument, with the path of what is wrong
Result<Pod> decode_pod(std::string text, PodManifest* manifest = nullptr);
Result<Node> decode_node(std::string text);

}  // namespace tangram::kube
