#pragma once

#include "node/cards/card_source.hpp"
#include "node/vendor/nvidia/nvml_inventory.hpp"

#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace tangram::node {

/// The driver's events of a set of cards. Belongs to one session of the library, and is to be gone
/// before that ends. Threads: one at a time.
class NvmlEvents {
 public:
  /// Asks for events of all these cards. One that has none, or does not answer, is left out.
  NvmlEvents(const NvmlLibrary& library, NvmlAsk& ask, std::vector<NvmlPhysical> layout);
  ~NvmlEvents();
  NvmlEvents(const NvmlEvents&) = delete;
  NvmlEvents& operator=(const NvmlEvents&) = delete;

  /// False: no card reports events, and there is nothing to wait for.
  [[nodiscard]] bool any() const { return set_ != nullptr && !registered_.empty(); }
  [[nodiscard]] const std::vector<NvmlPhysical>& layout() const { return layout_; }

  /// Waits up to `limit` for the first event, and takes those that came with it. Only if any().
  /// Where a card was lost, that is the fault, and this object is of no more use.
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

/// The cards that an event of a physical card is about: the MIG instances that it names, all of
/// them where it names none, or the card itself.
std::vector<std::string> cards_of_event(const std::vector<NvmlPhysical>& layout,
                                        const std::string& physical, std::uint32_t gpu_instance,
                                        std::uint32_t compute_instance);

}  // namespace tangram::node
