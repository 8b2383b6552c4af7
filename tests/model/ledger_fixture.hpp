#pragma once

#include "model/ledger.hpp"
#include "tests/testing/builders.hpp"
#include "tests/testing/manual_clock.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>

/// What the tests of the Ledger share.
namespace tangram::model {

inline constexpr std::chrono::seconds kTtl{30};

inline Allocation limited_by(MemoryLimits means, Allocation pod) {
  for (ContainerGrant& container : pod.containers) {
    for (GrantedCard& part : container.cards) part.memory_limits = means;
  }
  return pod;
}

inline Allocation in_mode(Isolation mode, Allocation pod) {
  pod.isolation = mode;
  return pod;
}

/// What the ledger says, apart from version numbers: equal before and after a refused operation.
struct SharedLedger {
  std::shared_ptr<const ClusterSnapshot> snapshot;
  std::size_t pods = 0;
  std::size_t assumed = 0;
  friend bool operator==(const SharedLedger&,
                         const SharedLedger&) = default;  // the same pointer, not a copy
};

/// One node "n" with two cards of 1000 MiB, so that a thousandth of a card is 1 MiB.
class LedgerTest : public ::testing::Test {
 protected:
  LedgerTest() { ledger_.put_node(two_cards()); }

  static NodeInventory two_cards() {
    return testing::inventory("n", {testing::card("a", "T4", Mebibytes(1000)),
                                    testing::card("b", "T4", Mebibytes(1000))});
  }

  /// A pod that has `milli` thousandths of a card of node "n".
  static Allocation pod(const std::string& uid, std::int64_t milli = 400,
                        const std::string& on = "a") {
    return testing::allocation(uid, "n", {testing::granted(on, milli, milli)});
  }

  SharedLedger ledger() {
    return {.snapshot = ledger_.snapshot(),
            .pods = ledger_.pod_count(),
            .assumed = ledger_.assumed_count()};
  }

  const NodeState& node(const std::string& name = "n") {
    seen_ = ledger_.snapshot();
    for (const NodeState* known : seen_->sorted_nodes()) {  // also those that are not present
      if (known->name == name) return *known;
    }
    throw std::logic_error("no node " + name);
  }

  const CardUse& use(std::size_t card_index) { return node().use.at(card_index); }

  /// "a b": the pods that overdue() names now.
  std::string overdue() {
    std::string uids;
    for (const Ledger::Overdue& late : ledger_.overdue(100)) {
      uids += (uids.empty() ? "" : " ") + late.allocation->pod_uid;
    }
    return uids;
  }

  testing::ManualClock clock_;
  Ledger ledger_{clock_};
  std::shared_ptr<const ClusterSnapshot> seen_;
};

}  // namespace tangram::model
