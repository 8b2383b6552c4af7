#pragma once

#include "node/cards/card_source.hpp"

#include <functional>
#include <memory>
#include <string>

namespace tangram::node::nvidia {

/// Whether the program that MPS needs, nvidia-cuda-mps-control, is in a folder of this PATH.
[[nodiscard]] bool mps_is_installed(const std::string& path);

/// NVIDIA's cards, which offer MPS, as an isolation mode and as a means of memory limits, only
/// where it is installed: a pod must not be sent to a node that then refuses it. Every inventory
/// checks anew, because a driver container may bring the program after the agent has started. The
/// other modes need no program. Where MPS gives compute in SM partitions, a card says in how many
/// chunks, and one that has none does not offer MPS.
class OfferedModes final : public CardSource {
 public:
  /// The chunks in which MPS gives a card's compute, for this driver; 0 = it cannot.
  using Chunks = std::function<int(const std::string& card, const std::string& driver)>;

  /// @param has_mps  mps_is_installed(), or whether the driver has the program elsewhere
  /// @param chunks  null = MPS gives compute in percentages
  OfferedModes(std::unique_ptr<CardSource> source, std::function<bool()> has_mps,
               Chunks chunks = nullptr)
      : source_(std::move(source)), has_mps_(std::move(has_mps)), chunks_(std::move(chunks)) {}

  Result<Inventory> inventory() override;
  Result<std::vector<Fault>> wait_for_faults(std::chrono::milliseconds limit) override {
    return source_->wait_for_faults(limit);
  }
  Result<CardActivity> activity(std::string_view card) override { return source_->activity(card); }
  Result<void> set_exclusive_process(std::string_view card, bool exclusive) override {
    return source_->set_exclusive_process(card, exclusive);
  }

 private:
  const std::unique_ptr<CardSource> source_;
  const std::function<bool()> has_mps_;
  const Chunks chunks_;
};

}  // namespace tangram::node::nvidia
