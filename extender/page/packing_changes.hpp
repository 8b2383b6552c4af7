#pragma once

#include "base/json.hpp"
#include "cluster/pod_table.hpp"
#include "model/snapshot.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace tangram::extender {

/// What has been reported of the packing: makes texts that say what has changed since.
///
/// What does not fit into one text goes into the next ones, in turn; a node that changed several
/// times meanwhile is reported once, as it is. A client that had the state of reported() and
/// applies all texts made since has the state of reported() now. (Applied to a newer state they may
/// mislead: they omit what came and went between two texts.) Threads: one at a time.
class PackingChanges {
 public:
  /// Two texts a second of this size are 512 KiB/s for each client; 300 cards that change in half
  /// a second fit, which is beyond what kube-scheduler binds.
  static constexpr std::size_t kTextBytes = std::size_t{256} << 10;
  /// Pods that begin to wait, in one text: 1,000 names are some 100 KiB.
  static constexpr std::size_t kWaitingPods = 1'000;

  /// @param text_bytes  nodes are left for the next text from here on; the last one goes beyond it
  explicit PackingChanges(std::size_t text_bytes = kTextBytes) : text_bytes_(text_bytes) {}

  struct Reported {
    std::vector<model::NodePtr> nodes;  ///< by name
    std::vector<cluster::PodPtr> waiting;
  };
  [[nodiscard]] Reported reported() const;

  /// Takes the present state as reported.
  void catch_up(const model::ClusterSnapshot& cluster, const cluster::PodTable& pods);

  /// {"version", "nodes": [...], "gone": [names], "waiting": [...], "settled": [UIDs]}: nodes as in
  /// packing_json(), but with `"partial": true` where only the cards in the text have
  /// changed. `gone` comes before `nodes`, `settled` before `waiting`.
  /// @returns "" if nothing has changed
  [[nodiscard]] std::string next(const model::ClusterSnapshot& cluster,
                                 const cluster::PodTable& pods);

  /// Frees its memory. To be followed by catch_up().
  void forget();

 private:
  void write_nodes(json::Writer& out, const std::string& text,
                   const model::ClusterSnapshot& cluster);
  void write_node(json::Writer& out, model::NodeIndex index, const model::ClusterSnapshot& cluster);
  void forget_former(model::NodeIndex index);
  void write_waiting(json::Writer& out, const cluster::PodTable& pods);

  const std::size_t text_bytes_;
  std::vector<model::NodePtr> reported_;  ///< by index in the snapshot
  model::NodeIndex turn_ = 0;             ///< where the next text begins
  std::vector<cluster::PodPtr> waiting_;  ///< by UID
  std::vector<std::string> gone_;         ///< for the text in the making
  bool changed_ = false;                  ///< the text in the making says something
};

}  // namespace tangram::extender
