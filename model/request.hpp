#pragma once

#include "base/result.hpp"
#include "base/units.hpp"
#include "model/annotations.hpp"
#include "model/card.hpp"
#include "model/request_rules.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tangram::model {

/// How the node agent's message about a container that does not start begins, where kubelet shows
/// it in the pod's status: it can never start as things are, or another attempt may succeed.
inline constexpr std::string_view kCannotStart = "tangram: cannot start";
inline constexpr std::string_view kNotYet = "tangram: not yet";

/// How a container says how much of each of its cards it wants.
enum class ShareForm {
  kWhole,     ///< the card, alone: gpu-count without a share
  kFraction,  ///< gpu-fraction: that share of memory and compute
  kMemory,    ///< gpu-mem, with or without gpu-compute
  kReplica,   ///< gpu-replica: as much as the node's sharing configuration makes of a card
};

/// What a container asks of each card it gets. Which memory and compute that
/// is depends on the card: see slice_of().
struct Share {
  ShareForm form = ShareForm::kWhole;
  MilliGpu fraction;                           ///< kFraction: 1..1000
  Mebibytes memory;                            ///< kMemory: >= 1
  CardResource resource = CardResource::kGpu;  ///< kReplica
  std::optional<MilliGpu> compute;  ///< kMemory: 0..1000; nothing = in proportion to the memory
  std::optional<Mebibytes> memory_limit;  ///< burst limit, >= the share; nothing = the share
  std::optional<MilliGpu> compute_limit;  ///< burst limit, >= the share; nothing = the share
  int max_burst = 0;                      ///< of RequestRules
  bool by_mps = false;                    ///< the pod's isolation is mps

  /// Whatever the card; a replica may be a whole card, too.
  [[nodiscard]] bool whole() const {
    return form == ShareForm::kWhole || (form == ShareForm::kFraction && fraction == kWholeGpu);
  }
  friend bool operator==(const Share&, const Share&) = default;
};

/// `count` different cards of one node for one container, each with the same share.
struct ContainerRequest {
  std::string container;
  int count = 1;
  Share share;
  friend bool operator==(const ContainerRequest&, const ContainerRequest&) = default;
};

/// Everything a pod's annotations say about GPUs.
struct GpuRequest {
  std::vector<ContainerRequest> containers;  ///< in the pod's order; empty = no GPU asked
  std::vector<std::string> models;           ///< globs; "!x" excludes; a card fits if it matches an
                                    ///< including glob (or there is none) and no excluding one
  std::vector<std::string> card_ids;       ///< the same for the card's id
  std::string policy;                      ///< empty = the configured one
  Isolation isolation = Isolation::kNone;  ///< the pod's choice, else the cluster's default
  MemoryLimits memory_limits = MemoryLimits::kNone;  ///< the weakest means that shares accept

  [[nodiscard]] bool asks_gpu() const { return !containers.empty(); }
  /// All containers ask for replicas, or none does.
  [[nodiscard]] bool asks_replicas() const {
    return asks_gpu() && containers.front().share.form == ShareForm::kReplica;
  }
  friend bool operator==(const GpuRequest&, const GpuRequest&) = default;
};

/// What the parser needs to know of a container besides the annotations.
struct ContainerInfo {
  std::string name;
  std::int64_t slots = 0;  ///< tangram.dev/gpu-slot in its limits
  bool ordinary_init =
      false;  ///< an init container that ends before the app starts: cannot hold a card
  friend bool operator==(const ContainerInfo&, const ContainerInfo&) = default;
};

/// The container that annotations without a container's name mean where gpu-container does not say
/// it: the first one with a slot, else the first; never an ordinary init container.
/// @returns its place, or containers.size() if there is none
[[nodiscard]] std::size_t default_container(const std::vector<ContainerInfo>& containers);

/// Limits on what a pod may write; they bound the work that one pod can cause.
inline constexpr int kMaxCardsPerContainer = 64;  // no node known has more
inline constexpr int kMaxGpuContainers = 16;
inline constexpr std::size_t kMaxGlobs = 32;  // of models, and of card ids

/// Reads a pod's annotations (design: names that all parts share). Every mistake of
/// the pod is in the one message, each naming annotation, value and what to write.
///
/// A pod without GPU annotations gives a request with no containers. Annotations of the
/// prefix that do not begin with "gpu-" are others' matter; an unknown "gpu-..." is refused.
/// @returns kInvalidArgument
Result<GpuRequest> parse_request(const Annotations& annotations,
                                 const std::vector<ContainerInfo>& containers,
                                 const RequestRules& rules);

/// The same of a running pod, whose limits may be above rules.max_burst: more may have been allowed
/// when it was created. slice_of() keeps to it.
Result<GpuRequest> parse_running_request(const Annotations& annotations,
                                         const std::vector<ContainerInfo>& containers,
                                         const RequestRules& rules);

/// RequestRules::max_burst that the request was read by.
[[nodiscard]] int max_burst_of(const GpuRequest& request);
/// The request as another max_burst reads it.
[[nodiscard]] GpuRequest with_max_burst(GpuRequest request, int max_burst);

/// What is wrong with a pod that requests a GPU and has spec.nodeName before it is bound.
[[nodiscard]] std::string node_name_mistake(std::string_view node);

/// Is this the key of an annotation that says how much a container gets: "gpu-mem", or
/// "gpu-mem.NAME" for the container NAME?
[[nodiscard]] bool is_share_key(std::string_view key);

/// Does a card's model or id satisfy the request's globs? '*' any text, '?' one character.
[[nodiscard]] bool globs_match(const std::vector<std::string>& globs, std::string_view text);

/// "0.333", "0.5", "1": as in the annotation gpu-fraction.
[[nodiscard]] std::string share_text(MilliGpu share);

/// An exact part of one card: what the ledger charges.
struct Slice {
  Mebibytes memory;
  MilliGpu compute;
  Mebibytes memory_limit;  ///< memory <= memory_limit <= the card's
  MilliGpu compute_limit;  ///< compute <= compute_limit <= the card's
  bool whole = false;      ///< the card must be idle
  friend bool operator==(const Slice&, const Slice&) = default;
};

/// What a share means on a card. Shares round down, so that shares which add up to
/// one card always fit it; a slice may still be larger than the card.
///
///     fraction f:  memory = floor(f * card memory / 1000), compute = f
///     memory m:    memory = m, compute = as asked, else floor(1000 * m / card memory)
///     replica:     1 of n equal shares, both rounded down; the card itself where n is 1
///     whole:       all of both
///
/// A limit that is not written is the share itself, except for best effort (compute 0), which is
/// limited by the card only. With a max_burst no limit is above so many times the share, and best
/// effort is limited to the smallest unit, because a container held to nothing could not run.
///
/// On a card that gives compute in chunks, a share by MPS has whole ones and no more than these:
/// compute = limit. One that is smaller than a chunk has none, and does not fit the card.
[[nodiscard]] Slice slice_of(const Share& share, const CardTraits& card);

}  // namespace tangram::model
