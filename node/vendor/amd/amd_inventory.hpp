#pragma once

#include "base/result.hpp"
#include "node/cards/card_source.hpp"
#include "node/vendor/amd/kernel_files.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tangram::node::amd {

/// A card that programs of ROCm can use, and where its files are.
struct AmdCard {
  InstalledCard installed;
  std::uint64_t gpu_id = 0;   ///< of its KFD node
  std::string render_node;    ///< of /dev/dri: "renderD128"
  std::string card_node;      ///< "card1"; empty for a partition, and where there is none
  bool is_partition = false;  ///< one compute partition of several of a card
  friend bool operator==(const AmdCard&, const AmdCard&) = default;
};

struct AmdCards {
  std::string driver;  ///< its version, or the kernel's; empty = unknown
  std::vector<AmdCard> cards;
  /// What the driver has that is no card, each with the reason.
  std::vector<std::string> left_out;

  /// @returns null if there is no such card
  [[nodiscard]] const AmdCard* find(std::string_view id) const;
};

/// Joins what amdkfd and amdgpu say of the machine's cards.
///
///     a physical card          AMD-UNIQUE_ID
///     a virtual function       AMD-UNIQUE_ID of its own, with its card as parent if that is known
///     a compute partition      AMD-UNIQUE_ID-MODE+INDEX of its card: AMD-8f1c…-cpx3, with the card
///                              as parent
///
/// UNIQUE_ID are the 16 digits by which rocminfo has it, too (GPU-…). A card without one has its
/// PCI address there. The mode is part of a partition's id, because a partition of another mode is
/// another part of the card. A partition is by its kind what a MIG instance is.
///
/// Partitions of one card have KFD nodes with ascending numbers, and all but the first have render
/// nodes of platform devices "amdgpu_xcp_N" (amdgpu/amdgpu_xcp.c, amdxcp/amdgpu_xcp_drv.c), so
/// they are matched with the card by bus and device. Where it is not certain which one is which,
/// all of them are left out: a container must not get another's partition.
///
/// @returns kUnavailable      there is no driver, or its list changes now
///          kInvalidArgument  the list is not as the driver writes it
[[nodiscard]] Result<AmdCards> read_amd_cards(const KernelFiles& files);

}  // namespace tangram::node::amd
