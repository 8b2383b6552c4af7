// Virtual memory management. The memory of a handle ends when neither a reference to the handle nor
// a mapping of it is left, in whatever order they go. Memory that is mapped to an array counts
// until the same piece is mapped otherwise or the array ends: a piece that is unmapped in parts, as
// the driver allows, may so count for longer. Memory that was exported or bound to a multicast
// object counts until the process ends: what keeps it alive can be in another process. What a
// process imports counts where it was exported.
#include "shim/cuda/virtual_memory.hpp"

#include "shim/cuda/cards.hpp"
#include "shim/cuda/driver.hpp"
#include "shim/cuda/exports.hpp"
#include "shim/cuda/records.hpp"
#include "shim/mutex.hpp"

#include <iterator>

namespace tangram::shim::cuda {
namespace {

/// While a mapping is made, or a mapping, a reference to a handle or an array's context ends: its
/// address could be mapped again before it is recorded; and of the last mapping and the last
/// reference, which end together, the later one gives the memory back.
constinit Mutex mappings;

/// A piece of an array by all that names it, as one number.
Thing tile_of(const ArrayMapping& mapping) {
  constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15U;
  constexpr unsigned kSpread = 29;
  std::uint64_t number = reinterpret_cast<std::uint64_t>(mapping.array);
  const auto add = [&](std::uint64_t more) {
    number = (number ^ more) * kOdd;
    number ^= number >> kSpread;
  };
  add(static_cast<std::uint64_t>(mapping.piece_type));
  const bool is_tail = mapping.piece_type == kPieceMipTail;
  for (unsigned i = 0; i < std::size(mapping.piece); ++i) {
    // Of a tail: the layer, a gap, an offset and a size of two words each.
    if (!is_tail || (i != 1 && i < 6)) add(mapping.piece[i]);
  }
  return {Kind::kTile, number};
}

/// After the driver has done it.
void note_tile(const ArrayMapping& mapping) {
  const Thing tile = tile_of(mapping);
  const Removal former = remove(tile);
  if (mapping.operation == kOperationMap) {
    (void)share({Kind::kHandle, mapping.handle}, tile,
                reinterpret_cast<std::uint64_t>(mapping.array));
  }
  if (former.last) give_back(former.charge);
}

template <class Driver>
CUresult map_array(ArrayMapping* list, unsigned count, CUstream stream, Driver& driver) {
  const Lock lock(mappings);
  const CUresult result = driver(list, count, stream);
  for (unsigned i = 0; result == CUDA_SUCCESS && i < count; ++i) note_tile(list[i]);
  return result;
}

/// What the call does keeps the memory of a thing alive from now on.
template <class Call>
CUresult keep_by(Thing thing, Call&& call) {
  const Lock lock(mappings);  // or it could be released meanwhile
  const std::size_t kept = keep(thing);
  const CUresult result = call();
  if (result != CUDA_SUCCESS) let_go(kept, give_back);
  return result;
}

}  // namespace

void forget_mappings() { mappings.reset(); }

void end_with(CUcontext context) {
  const Lock lock(mappings);
  remove_of(context, give_back);
}

CUresult end_array(Kind kind, void* array, DriverFunction<CUresult(void*)>& destroy) {
  const auto number = reinterpret_cast<std::uint64_t>(array);
  const auto end = [&] {
    return end_recorded({kind, number}, [&] { return destroy(array); }).result;
  };
  if (!has_tiles()) return end();
  const Lock lock(mappings);  // or a new array with its handle could be mapped meanwhile
  const CUresult result = end();
  if (result == CUDA_SUCCESS) remove_tiles(number, give_back);
  return result;
}

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
  const Lock lock(mappings);
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

CUresult cuMemExportToShareableHandle(void* shareable, CUmemGenericAllocationHandle handle,
                                      int type, std::uint64_t flags) {
  return keep_by({Kind::kHandle, handle}, [&] {
    return driver::cuMemExportToShareableHandle(shareable, handle, type, flags);
  });
}

CUresult cuMulticastBindMem(CUmemGenericAllocationHandle multicast, std::size_t multicast_offset,
                            CUmemGenericAllocationHandle handle, std::size_t offset,
                            std::size_t bytes, std::uint64_t flags) {
  return keep_by({Kind::kHandle, handle}, [&] {
    return driver::cuMulticastBindMem(multicast, multicast_offset, handle, offset, bytes, flags);
  });
}

CUresult cuMulticastBindMem_v2(CUmemGenericAllocationHandle multicast, CUdevice device,
                               std::size_t multicast_offset, CUmemGenericAllocationHandle handle,
                               std::size_t offset, std::size_t bytes, std::uint64_t flags) {
  return keep_by({Kind::kHandle, handle}, [&] {
    return driver::cuMulticastBindMem_v2(multicast, device, multicast_offset, handle, offset, bytes,
                                         flags);
  });
}

CUresult cuMulticastBindAddr(CUmemGenericAllocationHandle multicast, std::size_t multicast_offset,
                             CUdeviceptr address, std::size_t bytes, std::uint64_t flags) {
  return keep_by(mapping_at(address), [&] {
    return driver::cuMulticastBindAddr(multicast, multicast_offset, address, bytes, flags);
  });
}

CUresult cuMulticastBindAddr_v2(CUmemGenericAllocationHandle multicast, CUdevice device,
                                std::size_t multicast_offset, CUdeviceptr address,
                                std::size_t bytes, std::uint64_t flags) {
  return keep_by(mapping_at(address), [&] {
    return driver::cuMulticastBindAddr_v2(multicast, device, multicast_offset, address, bytes,
                                          flags);
  });
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

CUresult cuMemMapArrayAsync(ArrayMapping* list, unsigned count, CUstream stream) {
  return map_array(list, count, stream, driver::cuMemMapArrayAsync);
}
CUresult cuMemMapArrayAsync_ptsz(ArrayMapping* list, unsigned count, CUstream stream) {
  return map_array(list, count, stream, driver::cuMemMapArrayAsync_ptsz);
}

}  // namespace tangram::shim::cuda
