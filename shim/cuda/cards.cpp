#include "shim/cuda/cards.hpp"

#include "shim/cuda/driver.hpp"
#include "shim/cuda/pools.hpp"

#include <array>
#include <atomic>

namespace tangram::shim::cuda {
namespace {

/// By device, its card plus one. A device is the same card as long as the process lives.
constinit std::array<std::atomic<std::uint8_t>, kMaxDevices> known_cards{};

CUresult read_uuid(CUdevice device, Uuid& uuid) {
  CUuuid read{};
  // The second version names a MIG instance; the first names its parent.
  CUresult result = driver::cuDeviceGetUuid_v2(&read, device);
  if (result != CUDA_SUCCESS) result = driver::cuDeviceGetUuid(&read, device);
  for (std::size_t i = 0; i < uuid.size(); ++i) uuid[i] = read.bytes[i];
  return result;
}

/// Every call about such a device has this result.
bool is_no_device(CUresult result) {
  return result == CUDA_ERROR_NOT_INITIALIZED || result == CUDA_ERROR_DEINITIALIZED ||
         result == CUDA_ERROR_INVALID_DEVICE;
}

}  // namespace

std::size_t card_of(CUdevice device) {
  if (device < 0 || static_cast<std::size_t>(device) >= kMaxDevices) return kNoCard;
  if (!attach()) return kUnknownCard;
  std::atomic<std::uint8_t>& known = known_cards[static_cast<std::size_t>(device)];
  std::uint8_t card = known.load(std::memory_order_relaxed);
  if (card == 0) {
    Uuid uuid{};
    const CUresult read = read_uuid(device, uuid);
    if (read != CUDA_SUCCESS) return is_no_device(read) ? kNoCard : kUnknownCard;
    card = static_cast<std::uint8_t>(find_card(uuid) + 1);
    known.store(card, std::memory_order_relaxed);
  }
  return card - 1U;
}

CUdevice device_of(const CUmemLocation& location) {
  if (location.type == kLocationDevice) return location.id;
  constexpr int kDeviceByte = 0xff;
  if (location.type == kLocationLocalityDomain) return location.id & kDeviceByte;
  return -1;
}

std::size_t card_of(const CUmemLocation& location) { return card_of(device_of(location)); }

Place current_place() {
  Place place;
  if (driver::cuCtxGetCurrent(&place.context) != CUDA_SUCCESS || place.context == nullptr ||
      driver::cuCtxGetDevice(&place.device) != CUDA_SUCCESS) {
    return {};
  }
  place.card = card_of(place.device);
  return place;
}

Place place_of(CUstream stream, bool per_thread) {
  const Place here = current_place();
  CUcontext context = nullptr;
  const CUresult got = per_thread ? driver::cuStreamGetCtx_ptsz(stream, &context)
                                  : driver::cuStreamGetCtx(stream, &context);
  if (got != CUDA_SUCCESS || context == here.context) return here;
  if (driver::cuCtxPushCurrent_v2(context) != CUDA_SUCCESS) return here;
  const Place there = current_place();
  (void)driver::cuCtxPopCurrent_v2(&context);
  return there;
}

void give_back(const Charge& charge) {
  if (charge.card != kNoCard) release(charge.card, charge.bytes);
}

Reservation::Reservation(const char* call, std::size_t card, std::uint64_t bytes,
                         std::uint64_t rounding)
    : card_(card) {
  if (card == kNoCard) return;
  granted_ = card != kUnknownCard && reserve_or_trim(card, bytes, rounding);
  if (granted_) {
    bytes_ = bytes;
  } else if (card != kUnknownCard) {
    log_refusal(call, card, bytes - rounding);
  }
}

Reservation::~Reservation() {
  if (bytes_ != 0) release(card_, bytes_);
}

}  // namespace tangram::shim::cuda
