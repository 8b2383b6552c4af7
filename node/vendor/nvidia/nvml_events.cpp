#include "node/vendor/nvidia/nvml_events.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>

namespace tangram::node::nvidia {

namespace {

constexpr std::uint64_t kEvents = nvml::kXidCritical | nvml::kDoubleBitEcc;

/// Many events are returned in parts.
constexpr std::size_t kMaxAtOnce = 64;

bool matches(std::uint32_t named, std::uint32_t instance) {
  return named == nvml::kNoInstance || named == instance;
}

}  // namespace

NvmlEvents::NvmlEvents(const NvmlLibrary& library, NvmlAsk& ask, std::vector<NvmlPhysical> layout)
    : library_(library), layout_(std::move(layout)) {
  if (!ask(ask.call().event_set_create, &set_)) {
    set_ = nullptr;
    if (ask.broken()) return;
    spdlog::warn("the driver reports no events of cards ({}): faults show only in the inventory",
                 ask.last_text());
    return;
  }
  for (const NvmlPhysical& card : layout_) add_card(ask, card);
}

NvmlEvents::~NvmlEvents() {
  const auto release = library_.call().event_set_free;
  if (set_ != nullptr && release != nullptr) release(set_);
}

void NvmlEvents::add_card(NvmlAsk& ask, const NvmlPhysical& card) {
  nvml::Device device = nullptr;
  unsigned long long supported = 0;
  if (!ask(ask.call().device_by_uuid, card.uuid.c_str(), &device) ||
      !ask(ask.call().supported_events, device, &supported)) {
    return;
  }
  if ((supported & kEvents) == 0) {
    spdlog::info("card {} reports neither XIDs nor memory errors", card.uuid);
  } else if (ask(ask.call().register_events, device, supported & kEvents, set_)) {
    registered_.push_back({device, card.uuid});
  }
}

std::vector<Fault> NvmlEvents::wait(NvmlAsk& ask, std::chrono::milliseconds limit) {
  std::vector<Fault> faults;
  auto timeout = static_cast<unsigned>(std::max<std::int64_t>(limit.count(), 0));
  nvml::EventData event{};
  while (faults.size() < kMaxAtOnce && ask(ask.call().event_set_wait, set_, &event, timeout)) {
    add_faults(ask, event, faults);
    timeout = 0;
  }
  if (faults.empty() && ask.last() == nvml::Code::kGpuIsLost) return lost_cards(ask);
  return faults;
}

std::vector<Fault> NvmlEvents::lost_cards(NvmlAsk& ask) const {
  std::vector<Fault> faults;
  for (const Registered& card : registered_) {
    if (!ask.text(ask.call().uuid, card.device).empty()) continue;
    if (ask.last() != nvml::Code::kGpuIsLost) continue;
    for (auto& id : cards_of_event(layout_, card.uuid, nvml::kNoInstance, nvml::kNoInstance)) {
      faults.push_back({std::move(id), Fault::Kind::kLost, 0});
    }
  }
  return faults;
}

void NvmlEvents::add_faults(NvmlAsk& ask, const nvml::EventData& event,
                            std::vector<Fault>& faults) const {
  Fault fault;
  fault.kind =
      (event.type & nvml::kDoubleBitEcc) != 0 ? Fault::Kind::kEcc : Fault::Kind::kDriverError;
  if (fault.kind == Fault::Kind::kDriverError) fault.code = event.data;
  const std::string physical = ask.text(ask.call().uuid, event.device);
  const auto known = std::find_if(
      registered_.begin(), registered_.end(),
      [&](const Registered& card) { return card.device == event.device || card.uuid == physical; });
  if (known == registered_.end()) return faults.push_back(fault);
  for (auto& id :
       cards_of_event(layout_, known->uuid, event.gpu_instance, event.compute_instance)) {
    fault.card = std::move(id);
    faults.push_back(fault);
  }
}

std::vector<std::string> cards_of_event(const std::vector<NvmlPhysical>& layout,
                                        const std::string& physical, std::uint32_t gpu_instance,
                                        std::uint32_t compute_instance) {
  const auto card = std::find_if(layout.begin(), layout.end(),
                                 [&](const NvmlPhysical& one) { return one.uuid == physical; });
  if (card == layout.end() || !card->mig) return {physical};
  std::vector<std::string> cards;
  for (const auto& instance : card->instances) {
    if (matches(gpu_instance, instance.gpu_instance) &&
        matches(compute_instance, instance.compute_instance)) {
      cards.push_back(instance.uuid);
    }
  }
  return cards;
}

}  // namespace tangram::node::nvidia
