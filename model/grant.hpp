#pragma once

#include "base/result.hpp"
#include "base/units.hpp"
#include "model/isolation.hpp"
#include "model/memory_limits.hpp"

#include <optional>
#include <string>
#include <vector>

namespace tangram::model {

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
  friend bool operator==(const GrantedCard&, const GrantedCard&) = default;
};

struct ContainerGrant {
  std::string container;
  std::vector<GrantedCard> cards;
  friend bool operator==(const ContainerGrant&, const ContainerGrant&) = default;
};

/// The durable record of an allocation: a pod's annotation kGrantAnnotation, written by bind in the
/// same request that sets the pod's node.
struct Grant {
  static constexpr int kVersion = 1;

  std::string pod_uid;  ///< the pod it was issued to: a copied annotation is not valid
  std::string node;
  std::string issued_at;  ///< RFC 3339
  Isolation isolation = Isolation::kNone;
  std::vector<ContainerGrant> containers;
  std::string signature;  ///< base64; empty = unsigned
  friend bool operator==(const Grant&, const Grant&) = default;
};

/// The annotation's text. Member order and spelling are fixed, because the signature
/// covers the text without its "sig" member.
[[nodiscard]] std::string encode(const Grant& grant);

/// @returns kInvalidArgument if it is not JSON, a member is missing or out of range (amounts
///          below zero, limits below the amounts, a card twice in a container), or the version
///          is newer than this program knows.
Result<Grant> decode_grant(std::string text);

}  // namespace tangram::model
