// KAI's requests: annotations, for one container of the pod. Sources: KAI-Scheduler,
// docs/gpu-sharing and pkg/common/constants. It limits neither memory nor compute, and counts
// compute by memory.

#include "base/quote.hpp"
#include "extender/admission/translation_reading.hpp"
#include "model/request.hpp"

#include <algorithm>
#include <array>

namespace tangram::extender::translation {

namespace {

constexpr std::string_view kFraction = "gpu-fraction";
constexpr std::string_view kMemory = "gpu-memory";
constexpr std::string_view kDevices = "gpu-fraction-num-devices";
constexpr std::string_view kContainer = "gpu-fraction-container-name";
constexpr std::array<std::string_view, 4> kKnown{kFraction, kMemory, kDevices, kContainer};

/// "0.3333" -> 334: in thousandths, rounded up. Nothing unless 0 < it < 1.
struct Fraction {
  std::int64_t milli = 0;
  bool rounded = false;
};
std::optional<Fraction> fraction_of(std::string_view text) {
  const auto point = text.find('.');
  if (point == std::string_view::npos) return std::nullopt;
  const std::string_view whole = text.substr(0, point);
  const std::string_view decimals = text.substr(point + 1);
  const bool digits = decimals.find_first_not_of("0123456789") == std::string_view::npos;
  if (whole.find_first_not_of('0') != std::string_view::npos || !digits) return std::nullopt;
  Fraction fraction;
  for (std::size_t i = 0; i < 3; ++i) {
    fraction.milli = fraction.milli * 10 + (i < decimals.size() ? decimals[i] - '0' : 0);
  }
  fraction.rounded = decimals.find_first_not_of('0', 3) != std::string_view::npos;
  if (fraction.rounded) ++fraction.milli;
  if (fraction.milli == 0) return std::nullopt;
  return fraction;
}

class KaiReader {
 public:
  KaiReader(const kube::PodManifest& pod, Reading& reading) : pod_(pod), reading_(reading) {}

  void read() {
    if (!has(kFraction) && !has(kMemory)) {
      if (has(kDevices)) {
        refuse(kDevices,
               "does not set an amount of each card; write gpu-fraction or gpu-memory beside it");
      }
      return;
    }
    refuse_unknown();
    const kube::ContainerManifest* container = container_of();
    TranslatedRequest request{.container = container, .system = System::kKai};
    const bool whole = read_share(request) && read_devices(request);
    if (container == nullptr || !can_hold_cards(*container, holder_, reading_) || !whole) return;
    // KAI limits no container to a part of the compute.
    request.shares[model::kComputeLimitKey] = "1";
    reading_.requests.push_back(std::move(request));
    reading_.preferences.try_emplace(model::kModelKey, Preference{std::string(kNoMig), "", true});
  }

 private:
  [[nodiscard]] bool has(std::string_view name) const { return pod_.annotations.contains(name); }

  [[nodiscard]] std::string text(std::string_view name) const {
    return annotation_text(name, *kube::find(pod_.annotations, name));
  }

  /// @returns false
  bool refuse(std::string_view name, std::string_view why) {
    reading_.refuse(text(name) + " " + std::string(why));
    return false;
  }

  /// Newer annotations, such as gpu-memory.limit: better refused than lost.
  void refuse_unknown() {
    for (const auto& [name, value] : pod_.annotations) {
      const bool family =
          name.starts_with(kFraction) || name.starts_with(kMemory) || name.starts_with("gpu-sm-");
      if (!family || std::find(kKnown.begin(), kKnown.end(), name) != kKnown.end()) continue;
      refuse(name,
             "cannot be translated; write the request in Tangram's annotations, where "
             "tangram.dev/gpu-mem-limit and tangram.dev/gpu-compute-limit are limits");
    }
  }

  /// The one named, else the first; after an injector has put another one first, the one that was
  /// the first when the pod came.
  const kube::ContainerManifest* container_of() {
    const std::string* name = kube::find(pod_.annotations, kContainer);
    holder_ = has(kFraction) ? text(kFraction) : text(kMemory);
    if (name != nullptr) {
      holder_ = text(kContainer);
    } else {
      name = kube::find(pod_.annotations, model::full_name(model::kContainerKey));
    }
    for (const kube::ContainerManifest& container : pod_.containers) {
      if (container.kind == kube::ContainerKind::kEphemeral) continue;
      if (name == nullptr || container.name == *name) return &container;
    }
    reading_.refuse(holder_ + (name == nullptr ? " finds no container in the pod; write one"
                                               : ": the pod has no container of that name; write "
                                                 "the name of one that it has"));
    return nullptr;
  }

  bool read_share(TranslatedRequest& request) {
    if (has(kFraction) && has(kMemory)) {
      return refuse(kFraction, "and " + text(kMemory) +
                                   " both set an amount of memory; write only one of them");
    }
    request.source = text(has(kFraction) ? kFraction : kMemory);
    if (has(kMemory)) {
      const auto memory = whole_number(*kube::find(pod_.annotations, kMemory), 1, kMostMebibytes);
      if (!memory) {
        return refuse(kMemory,
                      "is not a number of MiB; write a whole number without a unit, such as 8192");
      }
      request.shares[model::kMemoryKey] = std::to_string(*memory) + "Mi";
      return true;
    }
    const auto fraction = fraction_of(*kube::find(pod_.annotations, kFraction));
    if (!fraction) {
      return refuse(
          kFraction,
          "is not a number between 0 and 1; write one such as 0.5, or nvidia.com/gpu: 1 for a "
          "whole card");
    }
    request.shares[model::kFractionKey] = model::share_text(MilliGpu(fraction->milli));
    if (fraction->rounded) {
      reading_.warn(request.source + " counts as " + model::share_text(MilliGpu(fraction->milli)) +
                    ": Tangram counts thousandths of a card");
    }
    return true;
  }

  bool read_devices(TranslatedRequest& request) {
    if (!has(kDevices)) return true;
    const auto count =
        whole_number(*kube::find(pod_.annotations, kDevices), 1, model::kMaxCardsPerContainer);
    if (!count) {
      return refuse(kDevices, "is not a number of cards; write a whole number from 1 to " +
                                  std::to_string(model::kMaxCardsPerContainer));
    }
    request.count = *count;
    return true;
  }

  const kube::PodManifest& pod_;
  Reading& reading_;
  std::string holder_;  ///< what names the container
};

}  // namespace

std::string kai_request(const kube::PodManifest& pod) {
  for (const std::string_view name : {kFraction, kMemory}) {
    const std::string* value = kube::find(pod.annotations, name);
    if (value != nullptr) return annotation_text(name, *value);
  }
  return {};
}

void read_kai(const kube::PodManifest& pod, const OtherSystems& systems, Reading& reading) {
  if (!systems.kai) return;
  KaiReader(pod, reading).read();
  const bool is_kais =
      !reading.requests.empty() &&
      (pod.scheduler_name == kKaiScheduler || reading.requests.back().system == System::kKai);
  const std::string* queue = kube::find(pod.labels, kKaiQueueLabel);
  if (is_kais && queue != nullptr) {
    reading.warn("the label " + annotation_text(kKaiQueueLabel, *queue) +
                 " has no counterpart in Tangram: there are no queues; a "
                 "ResourceQuota limits what a namespace gets");
  }
}

}  // namespace tangram::extender::translation
