#pragma once

#include "kube/api.hpp"
#include "kube/list_watch_codec.hpp"
#include "model/grant_reading.hpp"

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <vector>

namespace tangram::bench {

struct ClusterSize {
  int nodes = 5'000;
  int cards_per_node = 8;
  int pods = 160'000;     ///< running
  int pod_milli = 200;    ///< of one card, each; 0 = none of them has a card
  int pod_spread = 0;     ///< their sizes differ from pod_milli by at most so much
  double used_nodes = 1;  ///< the share of the nodes with pods: the first ones
  int pod_bytes = 0;      ///< minimum size as JSON, filled with managedFields

  [[nodiscard]] int nodes_in_use() const;
  /// How many pods with a share of a card fit.
  [[nodiscard]] std::int64_t room() const;
};

/// An API server of a cluster in use, for measurements. It generates objects on request and stores
/// none, so that the process's memory is the extender's own.
///
/// It lists nodes and pods page by page, sends the events of pod_event() to watches, and accepts
/// every binding. The nodes differ only in two card models; the pods are spread over them in turn.
/// Threads: safe.
class SyntheticApi final : public kube::KubeApi {
 public:
  /// @param signer  of grants; empty = they are not signed
  /// @throws std::invalid_argument  more pods than fit
  explicit SyntheticApi(ClusterSize size, model::Signer signer = {});

  Result<kube::Response> call(const kube::Request& request) override;
  Result<kube::Response> watch(const kube::Request& request, const kube::WatchFrame& frame,
                               std::stop_token stop) override;

  [[nodiscard]] const ClusterSize& size() const { return size_; }
  [[nodiscard]] const std::vector<std::string>& node_names() const { return names_; }
  /// One of the running pods. @param generation  another generation is another pod in its place
  [[nodiscard]] std::string running_pod(int number, int generation = 0) const;
  [[nodiscard]] std::string node(int number) const;
  /// Thousandths of its card that a running pod has.
  [[nodiscard]] int milli_of(int number) const;
  /// Would another pod of that size fit beside it, and the others on its card?
  [[nodiscard]] bool has_room_for_another(int number) const;

  /// Sends an event to the watch of pods. @returns the version that the object has in it: later
  /// than all before
  std::int64_t pod_event(std::string_view type, std::string object);

 private:
  [[nodiscard]] std::string grant(const std::string& uid, int number) const;

  const ClusterSize size_;
  const model::Signer signer_;
  std::vector<std::string> names_;
  std::string managed_fields_;  ///< with a comma behind it; empty = none
  std::mutex mutex_;
  std::condition_variable_any frame_added_;
  std::deque<std::string> frames_;    ///< not sent yet
  std::int64_t version_ = 1'000'000;  ///< of the lists, then of the last event
};

/// The metadata member that other writers leave on every object of a real cluster, of about that
/// many bytes: `"managedFields":[…]`.
[[nodiscard]] std::string managed_fields(std::size_t bytes);

inline constexpr std::string_view kBenchNamespace = "bench";

struct PendingPod {
  std::string uid;
  std::string name;
  std::string json;
};

/// A pending pod. Its request is one of `shapes`, in turn.
/// @param unseen  give it a new request instead
[[nodiscard]] PendingPod pending_pod(int number, int shapes, bool unseen);

/// A pending pod that makes the search for cards as long as it can be: 16 containers with fractions
/// never seen before. A half-full card takes two of them, but no set of cards takes all.
[[nodiscard]] PendingPod hostile_pod(int number);

}  // namespace tangram::bench
