#include "shim/nvml/container.hpp"

#include "shim/forward.hpp"
#include "shim/log.hpp"

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

/// @returns 16 if it is no hexadecimal digit
unsigned digit(char c) {
  if (c >= '0' && c <= '9') return static_cast<unsigned>(c - '0');
  if (c >= 'a' && c <= 'f') return static_cast<unsigned>(c - 'a') + 10;
  if (c >= 'A' && c <= 'F') return static_cast<unsigned>(c - 'A') + 10;
  return 16;
}

/// Of "GPU-01234567-89ab-cdef-0123-456789abcdef", or "MIG-…" for an instance.
/// @returns false for all else, such as the names of instances before r470
bool parse_uuid(std::string_view text, Uuid& uuid) {
  const std::size_t prefix = text.find('-');
  if (prefix == std::string_view::npos) return false;
  text.remove_prefix(prefix + 1);
  std::size_t digits = 0;
  uuid = {};
  for (const char c : text) {
    if (c == '-') continue;
    const unsigned value = digit(c);
    if (value == 16 || digits == 2 * uuid.size()) return false;
    std::uint8_t& byte = uuid[digits / 2];
    byte = static_cast<std::uint8_t>((unsigned{byte} << 4U) | value);
    ++digits;
  }
  return digits == 2 * uuid.size();
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
  Uuid uuid{};
  const bool is_parsed = parse_uuid(text.data(), uuid);
  limits_ = map_limits(kLimitsPath.data());
  if (limits_ == nullptr) {
    report_once(kLimitsPath);
    return;
  }
  if (is_parsed && !open_pages(uuid)) return;
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
