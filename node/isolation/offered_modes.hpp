#pragma once

#include "node/cards/card_source.hpp"

#include <functional>
#include <memory>
#include <string>

namespace tangram::node {

/// What a node needs, besides cards that can, to keep pods apart.
struct Means {
  bool control = true;     ///< the source can change a card's compute mode: NVML
  bool mps_daemon = true;  ///< nvidia-cuda-mps-control is installed
};

/// Looks for the programs in the folders of a PATH.
[[nodiscard]] Means find_means(bool control, const std::string& path);

/// The modes of sharing that these means allow a card, of those it is capable of. Taking turns
/// needs none: every driver does it unasked.
[[nodiscard]] model::IsolationSet offered(model::IsolationSet capable, const Means& means);

/// Cards of another source, which offer only what can be enforced here: a pod must not be sent to a
/// node that then refuses it. The means are looked at with every inventory: a driver container may
/// bring the programs after the agent has started.
class OfferedModes final : public CardSource {
 public:
  OfferedModes(std::unique_ptr<CardSource> source, std::function<Means()> means)
      : source_(std::move(source)), means_(std::move(means)) {}

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
  const std::function<Means()> means_;
};

}  // namespace tangram::node
