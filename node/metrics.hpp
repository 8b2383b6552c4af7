#pragma once

#include "kube/grant_keys.hpp"
#include "node/audit/auditor.hpp"
#include "node/cards/card_watcher.hpp"
#include "node/container/starter.hpp"

#include <prometheus/collectable.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace tangram::node {

/// What the agent knows at the moment of a scrape.
struct Readings {
  struct CardReading {
    model::Card card;
    std::optional<CardActivity> activity;  ///< nothing = the driver does not answer
  };
  /// What a pod was granted of a card, what it uses, and what holds it to its limit.
  struct PodReading {
    std::string ns;
    std::string pod;
    std::string card;
    std::uint64_t memory_used_bytes = 0;
    std::uint64_t memory_limit_bytes = 0;
    std::string isolation;  ///< "whole" where it shares the card with nobody
    bool memory_enforced = false;
    bool compute_enforced = false;
  };
  std::vector<CardReading> cards;
  std::vector<PodReading> pods;
  CardWatcher::XidCounts xids;
  ContainerStarter::Counts starts;
  Auditor::Counts audits;
  kube::GrantKeys::State grant_keys;  ///< none known = signatures are not looked at
  bool signed_grants_required = false;
  std::uint64_t registrations = 0;
  bool registered = false;  ///< kubelet listens to us
  int slots = 0;
  std::uint64_t node_writes = 0;
  std::uint64_t node_write_failures = 0;
};

/// GET /metrics of a node: a reading at every scrape. As many series as the node has cards and GPU
/// pods, some dozens each.
class NodeMetrics final : public prometheus::Collectable {
 public:
  explicit NodeMetrics(std::function<Readings()> read) : read_(std::move(read)) {}
  [[nodiscard]] std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  std::function<Readings()> read_;
};

}  // namespace tangram::node
