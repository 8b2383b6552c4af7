#pragma once

#include "base/json_members.hpp"
#include "base/result.hpp"
#include "drawing/cluster_view.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace tangram::bench::demo {

/// An independent ledger of every card, built from the pods' grants alone: it reads what the API
/// server stores and shares no code with the scheduler. Records every broken rule.
/// Threads: one at a time.
class Audit {
 public:
  /// Learns a node's cards. @param cards  the annotation tangram.dev/cards
  Result<void> add_node(const std::string& node, std::string cards);

  /// Records the grant of a bound pod. @param grant  the annotation tangram.dev/gpu-grant
  void bound(const std::string& uid, const std::string& node, std::string grant);
  /// A bound pod that requests a card and has no grant.
  void bound_without_grant(const std::string& pod);
  void removed(const std::string& uid);

  /// Records every difference between this ledger and what the extender shows.
  void compare(const drawing::ClusterView& shown);

  struct Part {
    std::string uuid;
    std::int64_t mem_mib = 0;
    std::int64_t milli = 0;
    bool whole = false;
  };
  /// "#3", the third card of its node; the UUID if no node lists it.
  [[nodiscard]] std::string name_on_node(const std::string& uuid) const;
  /// The allocation of a bound pod; empty = no card.
  [[nodiscard]] std::vector<Part> parts_of(const std::string& uid) const;

  /// One sentence per broken rule.
  [[nodiscard]] const std::vector<std::string>& broken() const { return broken_; }
  [[nodiscard]] std::size_t checks() const { return checks_; }

  [[nodiscard]] std::int64_t granted_milli() const;
  [[nodiscard]] std::int64_t capacity_milli() const;
  [[nodiscard]] std::size_t card_count() const { return cards_.size(); }

 private:
  struct Card {
    std::string node;
    std::size_t number = 0;  ///< among the node's cards, as the node lists them
    std::int64_t mem_mib = 0;
    int max_sharers = 48;   ///< the annotation's default
    bool available = true;  ///< healthy and not cordoned
    std::int64_t granted_mem_mib = 0;
    std::int64_t granted_milli = 0;
    std::map<std::string, int> sharers;  ///< by isolation mode
    int whole = 0;                       ///< containers that have the card to themselves
  };
  struct Grant {
    std::string pod_uid;
    std::string node;
    std::string isolation;
    std::vector<Part> parts;
  };
  static Part read_part(json::Reader& in);
  static Result<Grant> read_grant(std::string text);

  void check(bool holds, const std::string& otherwise);
  void add_grant(const Grant& grant, int sign);
  void check_card(const std::string& uuid, const Card& card, const std::string& uid);

  std::map<std::string, Card> cards_;     ///< by UUID
  std::map<std::string, Grant> granted_;  ///< by pod UID
  std::vector<std::string> broken_;
  std::size_t checks_ = 0;
};

}  // namespace tangram::bench::demo
