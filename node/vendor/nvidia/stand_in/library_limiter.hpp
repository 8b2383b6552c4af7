#pragma once

#include "node/container/memory_limiter.hpp"
#include "node/vendor/nvidia/stand_in/edits.hpp"
#include "node/vendor/nvidia/stand_in/share_pages.hpp"

#include <string>

namespace tangram::node::nvidia {

/// Holds containers to their memory by libraries that stand in for the driver's own (shim/). They
/// hold every program that loads the driver by its name; MemoryChecker sees the others.
class LibraryLimiter final : public MemoryLimiter {
 public:
  /// @param stand_ins  installed on the host
  /// @param pages      the folder of the containers' pages: the same path on the host
  LibraryLimiter(StandInPaths stand_ins, std::string pages)
      : stand_ins_(std::move(stand_ins)), pages_(std::move(pages)) {}

  Result<ContainerEdits> limit(std::string_view allocation,
                               const std::vector<model::GrantedCard>& cards,
                               CdiEdits& vendor) override;
  void note_use(std::string_view allocation, const MemoryByCard& used) override {
    (void)pages_.settle(allocation, used);
  }
  void keep(const std::set<std::string, std::less<>>& allocations) override {
    pages_.keep(allocations);
  }
  std::shared_ptr<AllocationPages> pages(std::string_view allocation) override {
    return pages_.find(allocation);
  }

 private:
  const StandInPaths stand_ins_;
  SharePages pages_;
};

}  // namespace tangram::node::nvidia
