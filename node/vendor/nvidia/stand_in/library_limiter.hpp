#pragma once

#include "node/container/memory_limiter.hpp"
#include "node/vendor/nvidia/stand_in/driver_use.hpp"
#include "node/vendor/nvidia/stand_in/edits.hpp"
#include "node/vendor/nvidia/stand_in/share_pages.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tangram::node::nvidia {

/// Holds containers to their memory by libraries that stand in for the driver's own (shim/). They
/// hold every program that loads the driver by its name; way_past() tells of others that load it,
/// and MemoryChecker sees what all of them use.
class LibraryLimiter final : public MemoryLimiter {
 public:
  /// @param stand_ins  installed on the host
  /// @param installed  the folder with the stand-ins of all versions
  /// @param pages      the folder of the containers' pages: the same path on the host
  LibraryLimiter(StandInPaths stand_ins, std::string installed, std::string pages)
      : stand_ins_(std::move(stand_ins)),
        driver_use_(std::move(installed)),
        pages_(std::move(pages)) {}

  Result<ContainerEdits> limit(std::string_view allocation,
                               const std::vector<model::GrantedCard>& cards,
                               CdiEdits& vendor) override;
  Result<void> change(std::string_view allocation,
                      const std::vector<model::GrantedCard>& cards) override {
    return pages_.change(allocation, cards);
  }
  [[nodiscard]] Result<std::uint64_t> in_use(std::string_view allocation,
                                             std::string_view card) override;
  void note_use(std::string_view allocation, const MemoryByCard& used) override {
    (void)pages_.settle(allocation, used);
  }
  Result<std::string> way_past(std::int64_t pid) override {
    return driver_use_.without_stand_in(pid);
  }
  void keep(const std::set<std::string, std::less<>>& allocations) override {
    pages_.keep(allocations);
  }
  std::shared_ptr<AllocationPages> pages(std::string_view allocation) override {
    return pages_.find(allocation);
  }

 private:
  const StandInPaths stand_ins_;
  DriverUse driver_use_;
  SharePages pages_;
};

}  // namespace tangram::node::nvidia
