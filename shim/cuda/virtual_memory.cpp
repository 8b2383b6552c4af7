// Virtual memory management. The memory of a handle ends when neither a reference to the handle nor
// a mapping of it is left, in whatever order they go.
#include "shim/cuda/virtual_memory.hpp"

#include "shim/cuda/cards.hpp"
#include "shim/cuda/driver.hpp"
#include "shim/cuda/exports.hpp"
#include "shim/cuda/records.hpp"
#include "shim/mutex.hpp"

namespace tangram::shim::cuda {
namespace {

/// While a mapping is made or ends: its address could be mapped again before it is recorded.
constinit Mutex mappings;

}  // namespace

void forget_mappings() { mappings.reset(); }

CUresult cuMemCreate(CUmemGenericAllocationHandle* handle, std::size_t bytes,
                     const CUmemAllocationProp* properties, std::uint64_t flags) {
  // Of the place in the properties, whatever context is current. Host memory has no card.
  const std::size_t card = properties == nullptr ? kNoCard : card_of(properties->location);
  Reservation reservation("cuMemCreate", card, bytes);
  if (!reservation.granted()) return CUDA_ERROR_OUT_OF_MEMORY;
  const CUresult result = driver::cuMemCreate(handle, bytes, properties, flags);
  if (result != CUDA_SUCCESS || card == kNoCard) return result;
  if (!record({Kind::kHandle, *handle}, {card, bytes, nullptr}, give_back)) {
    (void)driver::cuMemRelease(*handle);
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  reservation.keep();
  return result;
}

CUresult cuMemRelease(CUmemGenericAllocationHandle handle) {
  // Before the driver can give the number to another handle.
  const Thing thing{Kind::kHandle, handle};
  const Removal removal = remove(thing);
  const CUresult result = driver::cuMemRelease(handle);
  if (!removal.last) return result;
  if (result == CUDA_SUCCESS) {
    give_back(removal.charge);
  } else {
    (void)record(thing, removal.charge, give_back);
  }
  return result;
}

CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle* handle, void* address) {
  const Lock lock(mappings);
  const CUresult result = driver::cuMemRetainAllocationHandle(handle, address);
  if (result != CUDA_SUCCESS) return result;
  // The handle may have been released since it was mapped: its mapping knows the charge.
  const Thing mapping = mapping_at(reinterpret_cast<std::uint64_t>(address));
  if (mapping.kind != Kind::kFree) (void)share(mapping, {Kind::kHandle, *handle});
  return result;
}

CUresult cuMemMap(CUdeviceptr address, std::size_t bytes, std::size_t offset,
                  CUmemGenericAllocationHandle handle, std::uint64_t flags) {
  const Lock lock(mappings);
  const CUresult result = driver::cuMemMap(address, bytes, offset, handle, flags);
  if (result == CUDA_SUCCESS) {
    (void)share({Kind::kHandle, handle}, {Kind::kMapping, address}, bytes);
  }
  return result;
}

CUresult cuMemUnmap(CUdeviceptr address, std::size_t bytes) {
  const Lock lock(mappings);
  const CUresult result = driver::cuMemUnmap(address, bytes);
  if (result != CUDA_SUCCESS) return result;
  const Removal first = remove({Kind::kMapping, address});
  if (first.last) give_back(first.charge);
  // One call can unmap several mappings that follow each other.
  if (!first.known || first.size < bytes) remove_mappings(address, bytes, give_back);
  return result;
}

}  // namespace tangram::shim::cuda
