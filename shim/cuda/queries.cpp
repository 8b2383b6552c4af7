// What a program is told of the card's memory: its container's share of it.
#include "shim/cuda/cards.hpp"
#include "shim/cuda/driver.hpp"
#include "shim/cuda/exports.hpp"
#include "shim/cuda/pools.hpp"

#include <algorithm>
#include <limits>

namespace tangram::shim::cuda {
namespace {

/// The smaller of what the driver said and what the container has, in an old function's 32 bits.
template <class Size>
void lower(Size* said, std::uint64_t to) {
  constexpr std::uint64_t kMost = std::numeric_limits<Size>::max();
  if (said != nullptr) *said = std::min(*said, static_cast<Size>(std::min(to, kMost)));
}

template <class Size, class Driver>
CUresult memory_info(Size* free, Size* total, Driver& driver) {
  const CUresult result = driver(free, total);
  const std::size_t card = current_place().card;
  if (result != CUDA_SUCCESS || card >= kMaxCards) return result;
  settle_pools();
  const CardMemory memory = memory_of(card);
  lower(free, memory.available);
  lower(total, memory.limit);
  return result;
}

template <class Size, class Driver>
CUresult total_memory(Size* bytes, CUdevice device, Driver& driver) {
  const CUresult result = driver(bytes, device);
  const std::size_t card = card_of(device);
  if (result == CUDA_SUCCESS && card < kMaxCards) lower(bytes, memory_of(card).limit);
  return result;
}

}  // namespace

CUresult cuMemGetInfo(unsigned* free, unsigned* total) {
  return memory_info(free, total, driver::cuMemGetInfo);
}

CUresult cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
  return memory_info(free, total, driver::cuMemGetInfo_v2);
}

CUresult cuDeviceTotalMem(unsigned* bytes, CUdevice device) {
  return total_memory(bytes, device, driver::cuDeviceTotalMem);
}

CUresult cuDeviceTotalMem_v2(std::size_t* bytes, CUdevice device) {
  return total_memory(bytes, device, driver::cuDeviceTotalMem_v2);
}

}  // namespace tangram::shim::cuda
