#pragma once

#include "base/result.hpp"
#include "model/card.hpp"
#include "node/container/claims.hpp"
#include "node/container/journal.hpp"
#include "node/container/memory_limiter.hpp"

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace tangram::node {

/// The environment variable that tells a container by what means its memory is limited on each of
/// its cards, in their order; it is in the CDI spec, and so in the journal.
inline constexpr std::string_view kMemoryLimitsVariable = "TANGRAM_MEMORY_LIMITS";

/// Pod UID, container and card.
using ContainerOnCard = std::tuple<std::string, std::string, std::string>;

/// The means by which a container's memory is limited as it was started, which may not be the
/// card's means of today.
using StartedMeans = std::map<ContainerOnCard, model::MemoryLimits>;
[[nodiscard]] StartedMeans started_means(const std::vector<JournalEntry>& journal);

/// The limiter of each means that needs one at a container's start. Made when it is first needed,
/// since what it needs may be installed later. Threads: safe.
class MemoryLimiters {
 public:
  /// Null for a means that needs no limiter of its own: none, and mps, which the isolation mode's
  /// enforcer sets up.
  using Made = Result<std::unique_ptr<MemoryLimiter>>;
  using Make = std::function<Made(model::MemoryLimits)>;
  explicit MemoryLimiters(Make make) : make_(std::move(make)) {}

  /// Limits the memory of a container that shares these cards, on each by the card's own means, and
  /// adds what it needs to its edits and to the vendor's.
  /// @param here  the node's cards
  /// @returns kUnavailable or kInvalidArgument as MemoryLimiter::limit()
  Result<void> limit(std::string_view allocation, model::Isolation mode,
                     const std::vector<model::GrantedCard>& cards,
                     const std::vector<model::Card>& here, CdiEdits& vendor, ContainerEdits& edits);

  /// After a restart of the agent: takes over the containers that were started by these means.
  void resume(const StartedMeans& started);

  /// Changes limits of a running container, of cards that are limited by this means.
  /// @returns as MemoryLimiter::change(); kInvalidArgument for a means without a limiter, too
  Result<void> change(std::string_view allocation, model::MemoryLimits means,
                      const std::vector<model::GrantedCard>& cards);
  /// As MemoryLimiter::in_use().
  /// @returns kNotFound for a means without a limiter, too
  [[nodiscard]] Result<std::uint64_t> in_use(std::string_view allocation, model::MemoryLimits means,
                                             std::string_view card);

  /// Gives up what is kept for containers that are gone.
  void keep(const std::vector<CardClaim>& claims);
  /// As MemoryLimiter::way_past(), of a process whose memory is limited by a means.
  Result<std::string> way_past(model::MemoryLimits means, std::int64_t pid);
  /// @param allocations  of one container
  void note_use(const std::vector<std::string>& allocations, const MemoryByCard& used);
  /// MemoryLimiter::pages() of the means that has them.
  [[nodiscard]] std::shared_ptr<AllocationPages> pages(std::string_view allocation);

 private:
  Result<MemoryLimiter*> of(model::MemoryLimits means);
  std::vector<MemoryLimiter*> made();

  const Make make_;
  std::mutex mutex_;
  /// Under mutex_; what is made stays.
  std::array<std::unique_ptr<MemoryLimiter>, model::kAllMemoryLimits.size()> limiters_;
};

}  // namespace tangram::node
