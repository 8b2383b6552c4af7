// Memory at a pointer. It is accounted before the driver is asked for it, and given back after the
// driver has freed it: in between, the container is never above its limit.
#include "shim/cuda/batches.hpp"
#include "shim/cuda/cards.hpp"
#include "shim/cuda/driver.hpp"
#include "shim/cuda/exports.hpp"
#include "shim/cuda/pools.hpp"
#include "shim/cuda/records.hpp"

#include <algorithm>

namespace tangram::shim::cuda {
namespace {

constexpr std::uint64_t round_up(std::uint64_t value, std::uint64_t to) {
  const std::uint64_t rounded = (value + to - 1) / to * to;
  return rounded < value ? value : rounded;
}

/// What the driver takes for a pointer. It allocates in blocks, which small ones share: their rest
/// is part of the overhead that the agent sees. A large one leaves no room for another.
std::uint64_t taken_for(std::uint64_t bytes) {
  return bytes > kBlockBytes / 2 ? round_up(bytes, kBlockBytes) : bytes;
}

/// @param allocate  calls the driver, which sets the address at `pointer`
template <class Pointer, class Allocate>
CUresult allocate_at(const char* call, const Pointer* pointer, std::uint64_t bytes,
                     Allocate&& allocate) {
  const Place place = current_place();
  const std::uint64_t taken = taken_for(bytes);
  Reservation reservation(call, place.card, taken, taken - bytes);
  if (!reservation.granted()) return CUDA_ERROR_OUT_OF_MEMORY;
  const CUresult result = allocate();
  if (result != CUDA_SUCCESS || place.card == kNoCard) return result;
  if (!record({Kind::kPointer, *pointer}, {place.card, taken, place.context}, give_back)) {
    (void)driver::cuMemFree_v2(*pointer);
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  reservation.keep();
  return result;
}

/// What a pitched allocation takes at least: the driver's pitch is known only afterwards.
constexpr std::uint64_t kLeastPitch = 512;

std::uint64_t pitched_bytes(std::uint64_t width, std::uint64_t height) {
  return round_up(width, kLeastPitch) * height;
}

/// @returns whether the container stays within its limit with the pitch that the driver chose
bool account_pitch(std::uint64_t pointer, std::uint64_t expected, std::uint64_t bytes) {
  const std::uint64_t more = taken_for(bytes) - std::min(taken_for(bytes), taken_for(expected));
  if (more == 0) return true;
  const Place place = current_place();
  if (place.card == kNoCard) return true;
  Reservation rest("cuMemAllocPitch", place.card, more);
  if (!rest.granted()) return false;
  if (grow({Kind::kPointer, pointer}, more)) rest.keep();
  return true;
}

template <class Pointer, class Size, class Driver>
CUresult allocate_pitched(Pointer* pointer, Size* pitch, Size width, Size height, unsigned element,
                          Driver& driver) {
  const std::uint64_t expected = pitched_bytes(width, height);
  const CUresult result = allocate_at("cuMemAllocPitch", pointer, expected, [&] {
    return driver(pointer, pitch, width, height, element);
  });
  if (result != CUDA_SUCCESS) return result;
  const std::uint64_t bytes = static_cast<std::uint64_t>(*pitch) * height;
  if (account_pitch(*pointer, expected, bytes)) return result;
  (void)cuMemFree_v2(*pointer);
  return CUDA_ERROR_OUT_OF_MEMORY;
}

template <class Free>
CUresult free_at(std::uint64_t pointer, Free&& free) {
  const Ended ended = end_recorded({Kind::kPointer, pointer}, free);
  if (!ended.known) settle_pools();  // it can be a pool's
  return ended.result;
}

/// The driver frees what is in no pool only when the stream is synchronized. cuMemFree() would wait
/// for it, too.
template <class Free, class Synchronize>
CUresult free_in_order(std::uint64_t pointer, Free&& free, Synchronize&& synchronize) {
  const Thing thing{Kind::kPointer, pointer};
  const Removal removal = remove(thing);
  const CUresult result = free();
  if (!removal.known) {
    settle_pools();
    return result;
  }
  const CaptureGuard guard;  // of other streams
  if (result == CUDA_SUCCESS && synchronize() == CUDA_SUCCESS) {
    give_back(removal.charge);
  } else {  // after an error in a kernel the driver frees it with the context
    (void)record(thing, removal.charge, give_back);
  }
  return result;
}

}  // namespace

CUresult cuMemAlloc(CUdeviceptr_v1* pointer, unsigned bytes) {
  return allocate_at("cuMemAlloc", pointer, bytes,
                     [&] { return driver::cuMemAlloc(pointer, bytes); });
}

CUresult cuMemAlloc_v2(CUdeviceptr* pointer, std::size_t bytes) {
  return allocate_at("cuMemAlloc", pointer, bytes,
                     [&] { return driver::cuMemAlloc_v2(pointer, bytes); });
}

CUresult cuMemAllocManaged(CUdeviceptr* pointer, std::size_t bytes, unsigned flags) {
  return allocate_at("cuMemAllocManaged", pointer, bytes,
                     [&] { return driver::cuMemAllocManaged(pointer, bytes, flags); });
}

CUresult cuMemAllocPitch(CUdeviceptr_v1* pointer, unsigned* pitch, unsigned width, unsigned height,
                         unsigned element) {
  return allocate_pitched(pointer, pitch, width, height, element, driver::cuMemAllocPitch);
}

CUresult cuMemAllocPitch_v2(CUdeviceptr* pointer, std::size_t* pitch, std::size_t width,
                            std::size_t height, unsigned element) {
  return allocate_pitched(pointer, pitch, width, height, element, driver::cuMemAllocPitch_v2);
}

CUresult cuMemFree(CUdeviceptr_v1 pointer) {
  return free_at(pointer, [&] { return driver::cuMemFree(pointer); });
}
CUresult cuMemFree_v2(CUdeviceptr pointer) {
  return free_at(pointer, [&] { return driver::cuMemFree_v2(pointer); });
}

CUresult cuMemFreeAsync(CUdeviceptr pointer, CUstream stream) {
  return free_in_order(
      pointer, [&] { return driver::cuMemFreeAsync(pointer, stream); },
      [&] { return cuStreamSynchronize(stream); });
}
CUresult cuMemFreeAsync_ptsz(CUdeviceptr pointer, CUstream stream) {
  return free_in_order(
      pointer, [&] { return driver::cuMemFreeAsync_ptsz(pointer, stream); },
      [&] { return cuStreamSynchronize_ptsz(stream); });
}

}  // namespace tangram::shim::cuda
