#pragma once

#include "base/clock.hpp"
#include "kube/api.hpp"

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace tangram::kube {

/// A small API server in memory: nodes, pods (with the subresources binding, and eviction of
/// those that are Pending), leases, events, disruption budgets, secrets, ConfigMaps, deployments
/// (which nothing rolls out), webhook configurations (which it does not call), namespaces (which
/// nothing needs to be in, and which cannot be deleted); GET, LIST (limit/continue, field selectors
/// spec.nodeName, metadata.name, status.phase with = and
/// !=, label selectors by equality and existence), WATCH (resourceVersion, bookmarks,
/// sendInitialEvents refused with 422 as old servers do, an ERROR frame 410 once history is gone),
/// POST, PUT (with resourceVersion precondition), merge-patch (also of the status subresource),
/// DELETE, also as a dry run. What it does not do (set-based label selectors, other dry runs, other
/// patches) it refuses. A
/// page of a list is of the moment of the first page. Answers carry the statuses and the
/// metav1.Status bodies of a real server.
///
/// Serves demo, replay and tests. It holds only what tests/kube's contract suite covers.
/// Threads: safe. Time (creationTimestamp) comes from the clock; UIDs and versions are counted,
/// so the same calls give the same objects.
class LocalApi final : public KubeApi {
 public:
  struct Options {
    std::size_t history = 100'000;  ///< writes kept per kind; a watch from before them gets 410
  };
  explicit LocalApi(const Clock& clock) : LocalApi(clock, Options{}) {}
  LocalApi(const Clock& clock, Options options);
  ~LocalApi() override;

  Result<Response> call(const Request& request) override;
  /// A bookmark follows whenever the stream is up to date, so that readers know
  /// that they are up to date without waiting for a minute.
  Result<Response> watch(const Request& request, const WatchFrame& frame,
                         std::stop_token stop) override;

  /// Loads objects from YAML: documents of kind Node, Pod, Lease,
  /// PodDisruptionBudget or List, as kubectl would.
  /// All or nothing. A status is kept, so that what runs can be loaded.
  /// @returns kInvalidArgument, with the line and what is wrong
  Result<std::size_t> load_yaml(const std::string& text);

  /// Ends every open watch with an ERROR frame 410 and forgets all history: what an etcd compaction
  /// does.
  void compact();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tangram::kube
