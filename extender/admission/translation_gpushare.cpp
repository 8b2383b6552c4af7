// gpushare's requests: memory of one card in GiB, or in MiB by a flag of the cluster; compute is
// not limited. The label that spreads it over several cards is that of Alibaba Cloud's successor.

#include "base/quote.hpp"
#include "extender/admission/translation_reading.hpp"
#include "model/request.hpp"

namespace tangram::extender::translation {

namespace {

constexpr std::string_view kMemory = "aliyun.com/gpu-mem";
constexpr std::string_view kFamily = "aliyun.com/gpu";
constexpr std::int64_t kMostGibibytes = 1024;  // no card has that much: it must be MiB

void refuse_relatives(const kube::ContainerManifest& container, Reading& reading) {
  for (const auto& [name, value] : container.limits) {
    if (!name.starts_with(kFamily) || name == kMemory) continue;
    reading.refuse(
        resource_text(container, name) +
        " cannot be translated; write tangram.dev/gpu-mem, with tangram.dev/gpu-compute for a part "
        "of the compute and tangram.dev/gpu-count for several cards");
  }
}

/// How many cards the memory is spread over; nothing after a mistake.
std::optional<std::int64_t> cards_of(const kube::PodManifest& pod, Reading& reading) {
  const std::string* label = kube::find(pod.labels, kGpushareCountLabel);
  if (label == nullptr) return 1;
  const auto count = whole_number(*label, 1, model::kMaxCardsPerContainer);
  if (!count) {
    reading.refuse("the label " + annotation_text(kGpushareCountLabel, *label) +
                   " is not a number of cards; write a whole number from 1 to " +
                   std::to_string(model::kMaxCardsPerContainer));
  }
  return count;
}

/// In MiB; nothing after a mistake, 0 if none is requested.
std::optional<std::int64_t> memory_of(const kube::ContainerManifest& container, bool in_mib,
                                      Reading& reading) {
  const auto memory = amount(container, kMemory, 0, kMostMebibytes, reading);
  if (!memory || in_mib) return memory;
  if (*memory <= kMostGibibytes) return *memory * 1024;
  reading.refuse(resource_text(container, kMemory) +
                 " counts GiB here, and no card has so many; write a number of GiB, or set "
                 "foreign.gpushare_unit: MiB in Tangram's configuration");
  return std::nullopt;
}

}  // namespace

void read_gpushare(const kube::PodManifest& pod, const OtherSystems& systems, Reading& reading) {
  if (!systems.gpushare) return;
  for (const kube::ContainerManifest& container : pod.containers) {
    refuse_relatives(container, reading);
    if (container.quantity(kMemory) == nullptr) continue;
    reading.resources.insert(std::string(kMemory));
    const std::string source = resource_text(container, kMemory);
    const auto memory = memory_of(container, systems.gpushare_in_mib, reading);
    if (memory.value_or(0) == 0 || !can_hold_cards(container, source, reading)) continue;
    const auto count = cards_of(pod, reading);
    if (!count) return;
    TranslatedRequest request{
        .container = &container, .system = System::kGpushare, .source = source, .count = *count};
    request.shares[model::kMemoryKey] = std::to_string((*memory + *count - 1) / *count) + "Mi";
    request.shares[model::kComputeKey] = "0";
    reading.requests.push_back(std::move(request));
    reading.preferences.try_emplace(model::kModelKey, Preference{std::string(kNoMig), "", true});
  }
}

}  // namespace tangram::extender::translation
