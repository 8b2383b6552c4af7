#include "kube/resources.hpp"

#include "model/request.hpp"

#include <algorithm>
#include <string>
#include <string_view>

namespace tangram::kube {

namespace {

constexpr std::int64_t kMaxSlots = 4'096;  // kubelet: 48 sharers x 64 cards

std::optional<KubeQuantity> read_quantity(json::Reader& in) {
  if (in.kind() == json::Kind::kNull) {
    in.skip();
    return std::nullopt;
  }
  const std::string text = in.scalar_text();
  if (in.failed()) return std::nullopt;
  const auto quantity = KubeQuantity::parse(text);
  if (!quantity) {
    in.fail(quantity.error().message);
    return std::nullopt;
  }
  return *quantity;
}

/// Makes too many a mistake.
void check_slots(json::Reader& in, std::int64_t slots, std::string_view unit) {
  if (slots <= kMaxSlots) return;
  in.fail(std::to_string(slots).append(unit) + " is more than any node has; write at most " +
          std::to_string(kMaxSlots).append(unit));
}

std::optional<std::int64_t> units(const std::optional<KubeQuantity>& q) {
  if (!q) return std::nullopt;
  return q->units_ceil();
}

std::int64_t milli(const std::optional<KubeQuantity>& q) {
  return q ? std::min(q->milli_ceil(), Amount::kMostMilliCpu) : 0;
}
std::int64_t bytes(const std::optional<KubeQuantity>& q) {
  return q ? std::min(q->units_ceil(), Amount::kMostBytes) : 0;
}

}  // namespace

ResourceMap read_resources(json::Reader& in) {
  ResourceMap map;
  in.object([&](std::string_view name) {
    if (name == "cpu") {
      map.cpu = read_quantity(in);
    } else if (name == "memory") {
      map.memory = read_quantity(in);
    } else if (name == model::kSlotResource) {
      map.slots = units(read_quantity(in));
      check_slots(in, map.slots.value_or(0), " slots");
    } else {
      in.skip();
    }
  });
  // What was too large must not be added up.
  return in.failed() ? ResourceMap{} : map;
}

Resources read_requirements(json::Reader& in) {
  Resources resources;
  in.object([&](std::string_view key) {
    if (key == "requests") {
      resources.requests = read_resources(in);
    } else if (key == "limits") {
      resources.limits = read_resources(in);
    } else {
      in.skip();
    }
  });
  return resources;
}

Amount larger_of(Amount a, Amount b) {
  return {std::max(a.milli_cpu, b.milli_cpu), std::max(a.bytes, b.bytes)};
}

Amount requested(const Resources& r) {
  return {milli(r.requests.cpu ? r.requests.cpu : r.limits.cpu),
          bytes(r.requests.memory ? r.requests.memory : r.limits.memory)};
}

Amount with_pod_level(Amount of_containers, const Resources& pod) {
  Amount amount = of_containers;
  if (pod.requests.cpu || amount.milli_cpu == 0) amount.milli_cpu = requested(pod).milli_cpu;
  if (pod.requests.memory || amount.bytes == 0) amount.bytes = requested(pod).bytes;
  return amount;
}

Amount amount_of(const ResourceMap& map) { return {milli(map.cpu), bytes(map.memory)}; }

void check_total_slots(json::Reader& in, std::int64_t total) {
  check_slots(in, total, " slots in all");
}

}  // namespace tangram::kube
