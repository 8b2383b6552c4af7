// Pointers, arrays and virtual memory.
#include "tests/fake_cuda/machine.hpp"

#include <algorithm>
#include <bit>
#include <limits>

namespace fake_cuda {

/// What is larger than half a block has whole blocks of its own.
std::uint64_t in_blocks(std::uint64_t bytes) {
  constexpr std::uint64_t kBlock = 2U << 20U;
  const std::uint64_t rest = bytes % kBlock;
  return bytes <= kBlock / 2 || rest == 0 ? bytes : bytes - rest + kBlock;
}

CUresult allocate_pointer(CUdeviceptr* pointer, std::uint64_t bytes, bool narrow = false) {
  Context* const context = current_context();
  if (context == nullptr) return kInvalidContext;
  if (pointer == nullptr || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  bytes = in_blocks(bytes);
  const std::lock_guard guard(machine().mutex);
  if (const auto taken = take(context->device, bytes); taken != CUDA_SUCCESS) return taken;
  *pointer = narrow ? machine().next_narrow_address : new_address(bytes);
  if (narrow) machine().next_narrow_address += bytes;
  machine().pointers[*pointer] = {.device = context->device, .bytes = bytes, .context = context};
  return CUDA_SUCCESS;
}

void end_if_unused(std::uint64_t handle);

std::uint64_t bytes_of_array(const Array3dDescriptor& of, unsigned levels) {
  if ((of.flags & (kArraySparse | kArrayDeferredMapping)) != 0) return 0;
  const unsigned channel = of.format == 0x20 ? 4 : of.format == 0x10 ? 2 : 1;
  const std::uint64_t element = std::uint64_t{channel} * of.channels;
  const auto at = [](std::size_t size, unsigned level) {
    return std::max<std::size_t>(size >> level, 1);
  };
  const bool has_layers = (of.flags & (kArrayLayered | kArrayCubemap)) != 0;
  const auto most_levels =
      static_cast<unsigned>(std::bit_width(std::max({of.width, of.height, of.depth})));
  std::uint64_t bytes = 0;
  for (unsigned level = 0; level < std::clamp(levels, 1U, most_levels); ++level) {
    bytes +=
        element * at(of.width, level) * at(of.height, level) * at(of.depth, has_layers ? 0 : level);
  }
  return bytes;
}

CUresult allocate_array(CUarray* array, const Array3dDescriptor& of, unsigned levels) {
  Context* const context = current_context();
  if (context == nullptr) return kInvalidContext;
  if (of.width == 0) return CUDA_ERROR_INVALID_VALUE;
  const std::uint64_t all = bytes_of_array(of, levels);
  const std::lock_guard guard(machine().mutex);
  if (const auto taken = take(context->device, all); taken != CUDA_SUCCESS) return taken;
  const std::uint64_t handle = new_address(all);
  machine().arrays[handle] = {.device = context->device, .bytes = all, .context = context};
  *array = reinterpret_cast<void*>(handle);
  return CUDA_SUCCESS;
}

CUresult destroy_array(CUarray array) {
  const std::lock_guard guard(machine().mutex);
  const auto found = machine().arrays.find(reinterpret_cast<std::uint64_t>(array));
  if (found == machine().arrays.end()) return CUDA_ERROR_INVALID_VALUE;
  give(found->second.device, found->second.bytes);
  free_address(found->first, found->second.bytes);
  unmap_pieces(found->first);
  machine().arrays.erase(found);
  return CUDA_SUCCESS;
}

/// A handle's memory ends with its last reference or mapping, unless it was exported.
void end_if_unused(std::uint64_t handle) {
  Machine& own = machine();
  const auto found = own.handles.find(handle);
  const Block& block = found->second;
  if (block.references > 0 || block.mappings > 0 || block.exported) return;
  if (block.device >= 0) give(block.device, block.bytes);
  free_address(handle, block.bytes);
  own.handles.erase(found);
}

void unmap_piece(const Piece& piece) {
  auto& pieces = machine().mapped_pieces;
  const auto found = pieces.find(piece);
  if (found == pieces.end()) return;
  const std::uint64_t handle = found->second;
  pieces.erase(found);
  --machine().handles.at(handle).mappings;
  end_if_unused(handle);
}

void unmap_pieces(std::uint64_t array) {
  auto& pieces = machine().mapped_pieces;
  for (auto at = pieces.lower_bound({array, {}}); at != pieces.end() && at->first.first == array;) {
    unmap_piece((at++)->first);
  }
}

}  // namespace fake_cuda

using namespace fake_cuda;  // NOLINT(google-build-using-namespace): C's functions

FAKE_CUDA CUresult cuMemAlloc_v2(CUdeviceptr* pointer, std::size_t bytes) {
  return allocate_pointer(pointer, bytes);
}

FAKE_CUDA CUresult cuMemAlloc(CUdeviceptr_v1* pointer, unsigned bytes) {
  CUdeviceptr wide = 0;
  const CUresult result = allocate_pointer(&wide, bytes, true);
  *pointer = static_cast<CUdeviceptr_v1>(wide);
  return result;
}

FAKE_CUDA CUresult cuMemAllocPitch(CUdeviceptr_v1* pointer, unsigned* pitch, unsigned width,
                                   unsigned height, unsigned) {
  *pitch = (width + 511) / 512 * 512;
  return cuMemAlloc(pointer, *pitch * height);
}

FAKE_CUDA CUresult cuMemAllocManaged(CUdeviceptr* pointer, std::size_t bytes, unsigned) {
  return allocate_pointer(pointer, bytes);
}

FAKE_CUDA CUresult cuMemAllocPitch_v2(CUdeviceptr* pointer, std::size_t* pitch, std::size_t width,
                                      std::size_t height, unsigned) {
  if (current_context() == nullptr) return kInvalidContext;
  const std::uint64_t unit =
      machine().file->cards[static_cast<std::size_t>(current_context()->device)].pitch;
  *pitch = (width + unit - 1) / unit * unit;
  return allocate_pointer(pointer, *pitch * height);
}

FAKE_CUDA CUresult cuMemFree_v2(CUdeviceptr pointer) {
  if (pointer == 0) return CUDA_SUCCESS;
  return free_pointer(pointer);
}
FAKE_CUDA CUresult cuMemFree(CUdeviceptr_v1 pointer) { return cuMemFree_v2(pointer); }

FAKE_CUDA CUresult cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
  if (current_context() == nullptr) return kInvalidContext;
  if (free == nullptr && total == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Machine& own = machine();
  const auto device = static_cast<std::size_t>(current_context()->device);
  const CardLock lock(*own.file);
  const std::uint64_t bytes = own.file->cards[device].bytes;
  if (total != nullptr) *total = bytes;
  if (free != nullptr) *free = bytes - used_now(*own.file, own.fd, device, own.process);
  return CUDA_SUCCESS;
}

FAKE_CUDA CUresult cuMemGetInfo(unsigned* free, unsigned* total) {
  std::size_t wide_free = 0;
  std::size_t wide_total = 0;
  const CUresult result = cuMemGetInfo_v2(&wide_free, &wide_total);
  const auto narrow = [](std::size_t value) {
    return static_cast<unsigned>(
        std::min<std::size_t>(value, std::numeric_limits<unsigned>::max()));
  };
  if (result == CUDA_SUCCESS && free != nullptr) *free = narrow(wide_free);
  if (result == CUDA_SUCCESS && total != nullptr) *total = narrow(wide_total);
  return result;
}

FAKE_CUDA CUresult cuArrayCreate_v2(CUarray* array, const ArrayDescriptor* of) {
  if (of == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return allocate_array(array, {of->width, of->height, 0, of->format, of->channels, 0}, 1);
}
FAKE_CUDA CUresult cuArrayCreate(CUarray* array, const ArrayDescriptor_v1* of) {
  if (of == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return allocate_array(array, {of->width, of->height, 0, of->format, of->channels, 0}, 1);
}
FAKE_CUDA CUresult cuArray3DCreate_v2(CUarray* array, const Array3dDescriptor* of) {
  if (of == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return allocate_array(array, *of, 1);
}
FAKE_CUDA CUresult cuArray3DCreate(CUarray* array, const Array3dDescriptor_v1* of) {
  if (of == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return allocate_array(array,
                        {of->width, of->height, of->depth, of->format, of->channels, of->flags}, 1);
}
FAKE_CUDA CUresult cuArrayDestroy(CUarray array) { return destroy_array(array); }

FAKE_CUDA CUresult cuMipmappedArrayCreate(CUmipmappedArray* array, const Array3dDescriptor* of,
                                          unsigned levels) {
  if (of == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return allocate_array(array, *of, levels);
}
FAKE_CUDA CUresult cuMipmappedArrayDestroy(CUmipmappedArray array) { return destroy_array(array); }

FAKE_CUDA CUresult cuMemAddressReserve(CUdeviceptr* address, std::size_t bytes, std::size_t,
                                       CUdeviceptr, std::uint64_t) {
  const std::lock_guard guard(machine().mutex);
  *address = new_address(bytes);
  return CUDA_SUCCESS;
}

FAKE_CUDA CUresult cuMemCreate(CUmemGenericAllocationHandle* handle, std::size_t bytes,
                               const CUmemAllocationProp* properties, std::uint64_t) {
  if (properties == nullptr || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  const bool on_card = properties->location.type == kLocationDevice;
  const CUdevice device = on_card ? properties->location.id : -1;
  if (machine().file == nullptr) return kNotInitialized;
  if (on_card && !is_device(device)) return kInvalidDevice;
  const std::lock_guard guard(machine().mutex);
  if (on_card) {
    if (const auto taken = take(device, bytes); taken != CUDA_SUCCESS) return taken;
  }
  *handle = new_address(bytes);
  machine().handles[*handle] = {.device = device, .bytes = bytes};
  return CUDA_SUCCESS;
}

FAKE_CUDA CUresult cuMemRelease(CUmemGenericAllocationHandle handle) {
  hold_if_wanted(machine().file->hold_release);
  const std::lock_guard guard(machine().mutex);
  const auto found = machine().handles.find(handle);
  if (found == machine().handles.end() || found->second.references == 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  --found->second.references;
  end_if_unused(handle);
  return CUDA_SUCCESS;
}

/// The shareable handle is the handle itself, and so is what is imported from it.
FAKE_CUDA CUresult cuMemExportToShareableHandle(void* shareable,
                                                CUmemGenericAllocationHandle handle, int,
                                                std::uint64_t) {
  const std::lock_guard guard(machine().mutex);
  const auto found = machine().handles.find(handle);
  if (found == machine().handles.end()) return CUDA_ERROR_INVALID_VALUE;
  if (const int failure = machine().file->fail_exports; failure != 0) return failure;
  found->second.exported = true;
  *static_cast<std::uint64_t*>(shareable) = handle;
  return CUDA_SUCCESS;
}
FAKE_CUDA CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle* handle,
                                                  void* shareable, int) {
  const std::lock_guard guard(machine().mutex);
  *handle = reinterpret_cast<std::uint64_t>(shareable);
  const auto found = machine().handles.find(*handle);
  // Of another process: it has the memory, and this one does not take it.
  if (found == machine().handles.end()) {
    machine().handles[*handle] = {};
  } else {
    ++found->second.references;
  }
  return CUDA_SUCCESS;
}

FAKE_CUDA CUresult cuMemMap(CUdeviceptr address, std::size_t bytes, std::size_t,
                            CUmemGenericAllocationHandle handle, std::uint64_t) {
  const std::lock_guard guard(machine().mutex);
  const auto found = machine().handles.find(handle);
  if (found == machine().handles.end() || machine().mappings.contains(address)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  ++found->second.mappings;
  machine().mappings[address] = {bytes, handle};
  return CUDA_SUCCESS;
}

FAKE_CUDA CUresult cuMemUnmap(CUdeviceptr address, std::size_t bytes) {
  const std::lock_guard guard(machine().mutex);
  auto& mappings = machine().mappings;
  for (std::uint64_t at = address; at < address + bytes;) {
    const auto found = mappings.find(at);
    if (found == mappings.end()) return CUDA_ERROR_INVALID_VALUE;
    at += found->second.bytes;
  }
  for (std::uint64_t at = address; at < address + bytes;) {
    const Mapping mapping = mappings.at(at);
    mappings.erase(at);
    --machine().handles.at(mapping.handle).mappings;
    end_if_unused(mapping.handle);
    at += mapping.bytes;
  }
  return CUDA_SUCCESS;
}

FAKE_CUDA CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle* handle, void* at) {
  const std::lock_guard guard(machine().mutex);
  const auto address = reinterpret_cast<std::uint64_t>(at);
  for (const auto& [begin, mapping] : machine().mappings) {
    if (address - begin >= mapping.bytes) continue;
    ++machine().handles.at(mapping.handle).references;
    *handle = mapping.handle;
    return CUDA_SUCCESS;
  }
  return CUDA_ERROR_INVALID_VALUE;
}

/// Memory stays bound.
FAKE_CUDA CUresult cuMulticastBindMem(CUmemGenericAllocationHandle, std::size_t,
                                      CUmemGenericAllocationHandle handle, std::size_t, std::size_t,
                                      std::uint64_t) {
  const std::lock_guard guard(machine().mutex);
  const auto found = machine().handles.find(handle);
  if (found == machine().handles.end()) return CUDA_ERROR_INVALID_VALUE;
  ++found->second.mappings;
  return CUDA_SUCCESS;
}
FAKE_CUDA CUresult cuMulticastBindMem_v2(CUmemGenericAllocationHandle multicast, CUdevice,
                                         std::size_t at, CUmemGenericAllocationHandle handle,
                                         std::size_t offset, std::size_t bytes,
                                         std::uint64_t flags) {
  return cuMulticastBindMem(multicast, at, handle, offset, bytes, flags);
}
FAKE_CUDA CUresult cuMulticastBindAddr(CUmemGenericAllocationHandle multicast, std::size_t at,
                                       CUdeviceptr address, std::size_t bytes,
                                       std::uint64_t flags) {
  const std::lock_guard guard(machine().mutex);
  const auto found = machine().mappings.find(address);
  if (found == machine().mappings.end()) return CUDA_ERROR_INVALID_VALUE;
  return cuMulticastBindMem(multicast, at, found->second.handle, 0, bytes, flags);
}
FAKE_CUDA CUresult cuMulticastBindAddr_v2(CUmemGenericAllocationHandle multicast, CUdevice,
                                          std::size_t at, CUdeviceptr address, std::size_t bytes,
                                          std::uint64_t flags) {
  return cuMulticastBindAddr(multicast, at, address, bytes, flags);
}

/// One piece at a time.
FAKE_CUDA CUresult cuMemMapArrayAsync(ArrayMapping* mapping, unsigned count, CUstream) {
  if (mapping == nullptr || count != 1) return CUDA_ERROR_INVALID_VALUE;
  const std::lock_guard guard(machine().mutex);
  Piece piece{reinterpret_cast<std::uint64_t>(mapping->array), {}};
  std::copy(std::begin(mapping->piece), std::end(mapping->piece), piece.second.begin());
  if (!machine().arrays.contains(piece.first)) return CUDA_ERROR_INVALID_VALUE;
  const auto handle = machine().handles.find(mapping->handle);
  const bool maps = mapping->operation == kOperationMap;
  if (maps && handle == machine().handles.end()) return CUDA_ERROR_INVALID_VALUE;
  if (maps) ++handle->second.mappings;
  unmap_piece(piece);
  if (maps) machine().mapped_pieces[piece] = mapping->handle;
  return CUDA_SUCCESS;
}
FAKE_CUDA CUresult cuMemMapArrayAsync_ptsz(ArrayMapping* mapping, unsigned count, CUstream stream) {
  return cuMemMapArrayAsync(mapping, count, stream);
}
