#include "shim/nvml/container.hpp"

#include "shim/forward.hpp"
#include "shim/log.hpp"
#include "shim/uuid.hpp"

#include <algorithm>

namespace tangram::shim::nvml {
namespace {

constinit DriverFunction<int(Device, char*, unsigned)> get_uuid{"nvmlDeviceGetUUID"};

constinit std::atomic<bool> reported{false};

void report_once(std::string_view path) {
  if (reported.exchange(true)) return;
  log_line({"cannot read ", path,
            ", so neither memory nor processes can be shown; is the container from a pod that "
            "Tangram has bound?"});
}

/// Garbage in the page, which the container can write, must not wrap a sum.
std::uint64_t saturating_sum(std::uint64_t a, std::uint64_t b) {
  return a > ~b ? ~std::uint64_t{0} : a + b;
}

}  // namespace

ContainerCard::ContainerCard(Device device) {
  std::array<char, kUuidTextSize> text{};
  const int code = get_uuid(device, text.data(), static_cast<unsigned>(text.size()));
  if (code != kSuccess) {
    code_ = code;
    return;
  }
  text.back() = '\0';
  const auto uuid = uuid_of(text.data());
  limits_ = map_limits(kLimitsPath.data());
  if (limits_ == nullptr) {
    report_once(kLimitsPath);
    return;
  }
  if (uuid && !open_pages(*uuid)) return;
  code_ = kSuccess;
}

ContainerCard::~ContainerCard() {
  close_usage(usage_);
  if (limits_ != nullptr) unmap_limits(limits_);
}

/// @returns false if the card has a limit and its usage cannot be read
bool ContainerCard::open_pages(const Uuid& uuid) {
  for (std::size_t card = 0; card < limits_->card_count; ++card) {
    if (limits_->cards[card].uuid != uuid) continue;
    usage_ = open_usage_read_only(kUsagePath.data());
    if (usage_.page == nullptr) {
      report_once(kUsagePath);
      return false;
    }
    card_ = card;
    limit_ = &limits_->cards[card];
    return true;
  }
  return true;
}

Memory ContainerCard::memory() const {
  std::uint64_t used = limit_->overhead_bytes.load(std::memory_order_relaxed);
  each_process([&](std::uint32_t, std::uint64_t bytes) { used = saturating_sum(used, bytes); });
  const std::uint64_t total = limit_->memory_bytes.load(std::memory_order_relaxed);
  used = std::min(used, total);  // above it if the limit was lowered
  return {total, total - used, used};
}

std::uint64_t ContainerCard::bytes_of(std::size_t slot) const {
  const UsagePage& page = *usage_.page;
  if (page.taken[slot].load(std::memory_order_acquire) == 0) return 0;
  const auto bytes = page.slots[slot].accounts[card_].bytes.load(std::memory_order_acquire);
  return bytes != 0 && is_locked(usage_, slot) ? bytes : 0;
}

std::uint32_t ContainerCard::pid_of(std::size_t slot) const {
  return static_cast<std::uint32_t>(usage_.page->slots[slot].pid.load(std::memory_order_relaxed));
}

}  // namespace tangram::shim::nvml
