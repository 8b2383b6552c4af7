#pragma once

#include "node/cards/card_source.hpp"
#include "node/vendor/nvidia/nvml_inventory.hpp"

#include <chrono>
#include <string>
#include <vector>

namespace tangram::node::nvidia {

/// The driver's events of a set of cards. Belongs to one session of the library, and must be
/// destroyed before that ends. Threads: one at a time.
class NvmlEvents {
 public:
  /// Registers for events of all these cards, except those without events or without an answer.
  NvmlEvents(const NvmlLibrary& library, NvmlAsk& ask, std::vector<NvmlPhysical> layout);
  ~NvmlEvents();
  NvmlEvents(const NvmlEvents&) = delete;
  NvmlEvents& operator=(const NvmlEvents&) = delete;

  /// False: no card reports events, and there is nothing to wait for.
  [[nodiscard]] bool any() const { return set_ != nullptr && !registered_.empty(); }
  [[nodiscard]] const std::vector<NvmlPhysical>& layout() const { return layout_; }

  /// Waits up to `limit` for the first event, and returns it with those that came at the same time.
  /// Only if any(). After a fault kLost this object must be replaced.
  std::vector<Fault> wait(NvmlAsk& ask, std::chrono::milliseconds limit);

 private:
  struct Registered {
    nvml::Device device;
    std::string uuid;
  };

  void add_card(NvmlAsk& ask, const NvmlPhysical& card);
  std::vector<Fault> lost_cards(NvmlAsk& ask) const;
  void add_faults(NvmlAsk& ask, const nvml::EventData& event, std::vector<Fault>& faults) const;

  const NvmlLibrary& library_;
  std::vector<NvmlPhysical> layout_;
  nvml::EventSet set_ = nullptr;
  std::vector<Registered> registered_;
};

/// The cards of an event of a physical card: the MIG instances that it names, all of them if it
/// names none, or the card itself.
std::vector<std::string> cards_of_event(const std::vector<NvmlPhysical>& layout,
                                        const std::string& physical, std::uint32_t gpu_instance,
                                        std::uint32_t compute_instance);

}  // namespace tangram::node::nvidia
