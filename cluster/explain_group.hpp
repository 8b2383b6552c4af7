#pragma once

#include "base/json.hpp"
#include "cluster/pod_groups.hpp"
#include "cluster/pod_table.hpp"
#include "cluster/policy_source.hpp"
#include "model/snapshot.hpp"

/// Whether the members of a pod's group find room at the same time. For explain.cpp.
namespace tangram::cluster {

struct GroupQuestion {
  const model::ClusterSnapshot& cluster;
  const PodTable& pods;
  const PolicySource& policies;
  const PodGroups* groups = nullptr;  ///< to tell the minimum; null = not known
};

/// Writes "group": how many members run and wait, how many of those find room one after the other,
/// and of the first that does not, what it lacks. Nothing for a pod without a group.
void write_group(json::Writer& out, const kube::Pod& pod, const GroupQuestion& question);

}  // namespace tangram::cluster
