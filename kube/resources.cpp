#include "kube/resources.hpp"

#include "model/request.hpp"

#include <algorithm>
#include <string>
#include <string_view>

namespace tangram::kube {

namespace {

// Far above any machine, far below what could overflow a sum: what is larger is a mistake.
constexpr std::int64_t kMaxMilliCpu = 1'000'000'000;       // a million cores
constexpr std::int64_t kMaxBytes = std::int64_t{1} << 50;  // 1 PiB
constexpr std::int64_t kMaxSlots = 4'096;                  // kubelet: 48 sharers x 64 cards

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

/// Makes a quantity that is there and too large a mistake.
void check_at_most(json::Reader& in, std::optional<std::int64_t> value, std::int64_t limit,
                   std::string_view unit) {
  if (!value || *value <= limit) return;
  in.fail(std::to_string(*value).append(unit) + " is more than any node has; write at most " +
          std::to_string(limit).append(unit));
}

std::optional<std::int64_t> units(const std::optional<KubeQuantity>& q) {
  if (!q) return std::nullopt;
  return q->units_ceil();
}

std::int64_t milli(const std::optional<KubeQuantity>& q) { return q ? q->milli_ceil() : 0; }
std::int64_t bytes(const std::optional<KubeQuantity>& q) { return q ? q->units_ceil() : 0; }

}  // namespace

ResourceMap read_resources(json::Reader& in) {
  ResourceMap map;
  in.object([&](std::string_view name) {
    if (name == "cpu") {
      map.cpu = read_quantity(in);
      check_at_most(in, milli(map.cpu), kMaxMilliCpu, " milli-cores");
    } else if (name == "memory") {
      map.memory = read_quantity(in);
      check_at_most(in, units(map.memory), kMaxBytes, " bytes");
    } else if (name == model::kSlotResource) {
      map.slots = units(read_quantity(in));
      check_at_most(in, map.slots, kMaxSlots, " slots");
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

void check_total(json::Reader& in, Amount total) {
  check_at_most(in, total.milli_cpu, kMaxMilliCpu, " milli-cores in all");
  check_at_most(in, total.bytes, kMaxBytes, " bytes in all");
}

void check_total_slots(json::Reader& in, std::int64_t total) {
  check_at_most(in, total, kMaxSlots, " slots in all");
}

}  // namespace tangram::kube
