#pragma once

#include "kube/grant_keys.hpp"
#include "node/audit/auditor.hpp"
#include "node/audit/device_checker.hpp"
#include "node/audit/library_checker.hpp"
#include "node/audit/memory_checker.hpp"
#include "node/cards/card_watcher.hpp"
#include "node/container/memory_limiters.hpp"
#include "node/container/starter.hpp"
#include "node/isolation/enforcers.hpp"
#include "node/pods/local_pods.hpp"
#include "node/resize/resizer.hpp"

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace tangram::node {

/// A card of the node and its use.
struct CardReading {
  model::Card card;
  std::optional<CardActivity> activity;  ///< nothing = the driver does not answer
};

/// The share of a pod of a card, its use, and what enforces its limit.
struct PodReading {
  std::string ns;
  std::string pod;
  std::string card;
  std::uint64_t memory_used_bytes = 0;
  std::uint64_t memory_limit_bytes = 0;
  std::string isolation;  ///< "whole" if it does not share the card
  Holder memory_held_by = Holder::kNobody;
  Holder compute_held_by = Holder::kNobody;
};

[[nodiscard]] std::vector<CardReading> read_cards(CardSource& source, const CardsNow& now);

/// What is known of the node's containers.
struct PodSources {
  /// Of present pods: a grant that was revised, or changed, may not be what its pod has.
  std::vector<CardClaim> claims;
  const Enforcers& enforcers;
  StartedMeans started;
  std::set<ContainerOnCard> leased;  ///< whose turns on cards are leased
  const Processes& processes;
};

/// @param cards  of the same moment, by read_cards()
[[nodiscard]] std::vector<PodReading> read_pods(const PodSources& of,
                                                const std::vector<CardReading>& cards);

/// The state of the agent at the moment of a scrape.
struct Readings {
  std::vector<CardReading> cards;
  std::vector<PodReading> pods;
  CardWatcher::ErrorCounts driver_errors;
  ContainerStarter::Counts starts;
  Auditor::Counts audits;
  DeviceChecker::Counts device_checks;
  MemoryChecker::State memory_checks;
  LibraryChecker::State library_checks;
  Resizer::Counts resizes;
  kube::GrantKeys::State grant_keys;  ///< no known key = signatures are not checked
  bool signed_grants_required = false;
  std::uint64_t registrations = 0;
  bool registered = false;            ///< kubelet uses the device plugin
  std::uint64_t pods_left_out = 0;    ///< as of LocalPods::left_out()
  double pods_watch_lag_seconds = 0;  ///< since the API server was last heard of the node's pods
  int slots = 0;
  std::uint64_t node_writes = 0;
  std::uint64_t node_write_failures = 0;
};

}  // namespace tangram::node
