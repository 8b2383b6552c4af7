#include "kube/resources.hpp"

#include "model/request.hpp"

#include <algorithm>
#include <string>
#include <string_view>

namespace tangram::kube {

namespace {

constexpr std::int64_t kMaxSlots = 4'096;  // kubelet: 48 sharers x 64 cards

/// A number or a string, as text; null is as good as no entry.
std::optional<std::string> read_quantity_text(json::Reader& in) {
  if (in.kind() != json::Kind::kNull) return in.scalar_text();
  in.skip();
  return std::nullopt;
}

/// @returns nothing after a mistake
std::optional<KubeQuantity> parse_quantity(json::Reader& in, const std::string& text) {
  if (in.failed()) return std::nullopt;
  const auto quantity = KubeQuantity::parse(text);
  if (quantity) return *quantity;
  in.fail(quantity.error().message);
  return std::nullopt;
}

/// Makes too many a mistake.
void check_slots(json::Reader& in, std::int64_t slots, std::string_view unit) {
  if (slots <= kMaxSlots) return;
  in.fail(std::to_string(slots).append(unit) + " is more than any node has; write at most " +
          std::to_string(kMaxSlots).append(unit));
}

std::int64_t checked_slots(json::Reader& in, const KubeQuantity& quantity) {
  const std::int64_t slots = quantity.units_ceil();
  check_slots(in, slots, " slots");
  return slots;
}

std::int64_t milli(const std::optional<KubeQuantity>& q) {
  return q ? std::min(q->milli_ceil(), Amount::kMostMilliCpu) : 0;
}
std::int64_t bytes(const std::optional<KubeQuantity>& q) {
  return q ? std::min(q->units_ceil(), Amount::kMostBytes) : 0;
}

/// A pod-level request replaces what the containers add up to; a pod-level limit stands in where no
/// container requests anything. That is how the API server defaults it.
Amount with_pod_level(Amount of_containers, const Resources& pod) {
  Amount amount = of_containers;
  if (pod.requests.cpu || amount.milli_cpu == 0) amount.milli_cpu = requested(pod).milli_cpu;
  if (pod.requests.memory || amount.bytes == 0) amount.bytes = requested(pod).bytes;
  return amount;
}

/// Where the quantity of this name goes that scheduling counts; null: it does not count it.
std::optional<KubeQuantity>* counted(std::string_view name, ResourceMap& map,
                                     std::optional<KubeQuantity>& slots) {
  if (name == "cpu") return &map.cpu;
  if (name == "memory") return &map.memory;
  return name == model::kSlotResource ? &slots : nullptr;
}

}  // namespace

ResourceMap read_resources(json::Reader& in, StringMap* texts) {
  ResourceMap map;
  std::optional<KubeQuantity> slots;
  in.object([&](std::string_view name) {
    auto* const quantity = counted(name, map, slots);
    if (quantity == nullptr && texts == nullptr) return in.skip();
    const auto text = read_quantity_text(in);
    if (!text) return;
    if (texts != nullptr) texts->emplace(name, *text);
    if (quantity != nullptr) *quantity = parse_quantity(in, *text);
    if (quantity == &slots && slots) map.slots = checked_slots(in, *slots);
  });
  // What was too large must not be added up.
  return in.failed() ? ResourceMap{} : map;
}

StringMap read_resource_texts(json::Reader& in) {
  StringMap texts;
  in.object([&](std::string_view name) {
    if (auto text = read_quantity_text(in)) texts.emplace(name, *std::move(text));
  });
  return texts;
}

Amount larger_of(Amount a, Amount b) {
  return {std::max(a.milli_cpu, b.milli_cpu), std::max(a.bytes, b.bytes)};
}

Amount requested(const Resources& r) {
  return {milli(r.requests.cpu ? r.requests.cpu : r.limits.cpu),
          bytes(r.requests.memory ? r.requests.memory : r.limits.memory)};
}

std::int64_t requested_slots(const Resources& r) {
  return r.limits.slots.value_or(r.requests.slots.value_or(0));
}

model::Footprint pod_footprint(Amount of_containers, const Resources& pod_level,
                               const ResourceMap& overhead) {
  const Amount amount = with_pod_level(of_containers, pod_level) +
                        Amount{.milli_cpu = milli(overhead.cpu), .bytes = bytes(overhead.memory)};
  constexpr std::int64_t kMebibyte = 1 << 20;
  return {.cpu = MilliCpu(amount.milli_cpu),
          .memory = Mebibytes((amount.bytes + kMebibyte - 1) / kMebibyte)};
}

void check_total_slots(json::Reader& in, std::int64_t total) {
  check_slots(in, total, " slots in all");
}

}  // namespace tangram::kube
