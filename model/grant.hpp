#pragma once

#include "base/result.hpp"
#include "base/units.hpp"
#include "model/isolation.hpp"
#include "model/memory_limits.hpp"

#include <optional>
#include <string>
#include <vector>

namespace tangram::model {

/// How much of a card a container has.
struct CardAmounts {
  Mebibytes memory;
  MilliGpu compute;
  Mebibytes memory_limit;  ///< >= memory
  MilliGpu compute_limit;  ///< >= compute
  friend bool operator==(const CardAmounts&, const CardAmounts&) = default;
};

/// The larger of each.
[[nodiscard]] CardAmounts larger_of(const CardAmounts& a, const CardAmounts& b);

/// One card as granted to one container.
struct GrantedCard {
  std::string uuid;
  Mebibytes memory;
  MilliGpu compute;
  Mebibytes memory_limit;  ///< what the container is held to; >= memory
  MilliGpu compute_limit;  ///< what the container is held to; >= compute
  /// The container has the card to itself, whatever size the card reports later. Nothing = a grant
  /// from before this was recorded; see takes_whole().
  std::optional<bool> whole = {};
  /// By what the memory limit is enforced. None: for a container that has the card to itself, and
  /// in a grant from before this was recorded, too, since nothing was promised then.
  MemoryLimits memory_limits = MemoryLimits::kNone;
  /// Of a revision: what the container had before, and may have until the node's agent has applied
  /// the revision.
  std::optional<CardAmounts> former = {};

  [[nodiscard]] CardAmounts amounts() const {
    return {memory, compute, memory_limit, compute_limit};
  }
  void set_amounts(const CardAmounts& amounts);
  friend bool operator==(const GrantedCard&, const GrantedCard&) = default;
};

struct ContainerGrant {
  std::string container;
  std::vector<GrantedCard> cards;
  friend bool operator==(const ContainerGrant&, const ContainerGrant&) = default;
};

/// The durable record of an allocation: a pod's annotation kGrantAnnotation, written by bind in the
/// same request that sets the pod's node. A resize of the running pod replaces it by its next
/// revision.
struct Grant {
  static constexpr int kVersion = 1;
  static constexpr int kMaxRevision = 1'000'000'000;  ///< one a second for 30 years

  std::string pod_uid;  ///< the pod it was issued to: a copied annotation is not valid
  std::string node;
  std::string issued_at;  ///< RFC 3339; of the bind, in all revisions
  int revision = 0;       ///< 0 = as the pod was bound; grows with each resize
  /// It takes a revision back: the node's agent cannot change the containers to the former amounts.
  bool former_refused = false;
  int max_burst = 0;  ///< of RequestRules, which the limits keep to
  Isolation isolation = Isolation::kNone;
  std::vector<ContainerGrant> containers;
  std::string signature;  ///< base64; empty = unsigned
  friend bool operator==(const Grant&, const Grant&) = default;
};

/// What no revision changes: the same cards of the same containers, limited by the same means, and
/// with the same amounts where a container has the card to itself.
[[nodiscard]] bool same_cards(const std::vector<ContainerGrant>& a,
                              const std::vector<ContainerGrant>& b);
/// Is it a later revision of the same grant: of the same cards, in the same mode, with other
/// amounts?
[[nodiscard]] bool revises(const Grant& later, const Grant& earlier);

/// The annotation's text. Member order and spelling are fixed, because the signature
/// covers the text without its "sig" member.
[[nodiscard]] std::string encode(const Grant& grant);

/// @returns kInvalidArgument if it is not JSON, a member is missing or out of range (amounts
///          below zero, limits below the amounts, a card twice in a container, former amounts
///          without a revision), or the version
///          is newer than this program knows.
Result<Grant> decode_grant(std::string text);

}  // namespace tangram::model
