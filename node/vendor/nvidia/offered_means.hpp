#pragma once

#include "node/cards/card_source.hpp"
#include "node/container/cdi_spec.hpp"

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace tangram::node::nvidia {

/// NVIDIA's cards, with the means of memory limits that need more than the card: the library, for
/// drivers from r535 on, and the driver itself, from r615 on. Both need edits of the card:
/// where NVIDIA's runtime mounts the driver, the agent could neither replace its libraries nor run
/// a program before the container's first. Every inventory checks anew, because a spec may be
/// written, or the driver replaced, after the agent has started.
class OfferedMeans final : public CardSource {
 public:
  struct Machine {
    std::string stand_ins;    ///< the image's folder of stand-in libraries
    std::string memory_hook;  ///< the image's tangram-memory-hook
    /// CardEdits::of_each(); called once for an inventory.
    std::function<Result<std::map<std::string, CdiEdits>>(const std::vector<std::string>&)>
        cdi_edits;
    std::string cgroups = "/sys/fs/cgroup";
  };
  OfferedMeans(std::unique_ptr<CardSource> source, Machine machine)
      : source_(std::move(source)), machine_(std::move(machine)) {}

  Result<Inventory> inventory() override;
  Result<std::vector<Fault>> wait_for_faults(std::chrono::milliseconds limit) override {
    return source_->wait_for_faults(limit);
  }
  Result<CardActivity> activity(std::string_view card) override { return source_->activity(card); }
  Result<void> set_exclusive_process(std::string_view card, bool exclusive) override {
    return source_->set_exclusive_process(card, exclusive);
  }

 private:
  [[nodiscard]] bool can_use_library(const InstalledCard& card, int driver,
                                     const CdiEdits& edits) const;
  [[nodiscard]] bool can_use_driver(const InstalledCard& card, int driver) const;

  const std::unique_ptr<CardSource> source_;
  const Machine machine_;
};

}  // namespace tangram::node::nvidia
