// Arrays. The driver does not say what they take, so it is reckoned from above as far as the layout
// is known: the agent sees the rest in the driver and takes it off the limit.
#include "shim/cuda/cards.hpp"
#include "shim/cuda/driver.hpp"
#include "shim/cuda/exports.hpp"
#include "shim/cuda/records.hpp"
#include "shim/cuda/virtual_memory.hpp"

#include <algorithm>

namespace tangram::shim::cuda {
namespace {

// Textures lie in blocks of 64 bytes by 8 rows, and arrays in units of 64 KiB.
constexpr std::uint64_t kBlockWidth = 64;
constexpr std::uint64_t kBlockRows = 8;
constexpr std::uint64_t kUnit = 64U << 10U;

constexpr std::uint64_t round_up(std::uint64_t value, std::uint64_t to) {
  return (value + to - 1) / to * to;
}

/// Of one channel of one element; of formats that are not listed, which are packed or compressed,
/// the most that any of them takes.
std::uint64_t channel_bytes(int format) {
  switch (format) {
    case 0x01:  // unsigned and signed 8 bits
    case 0x08:
      return 1;
    case 0x02:  // 16 bits, half
    case 0x09:
    case 0x10:
      return 2;
    default:
      return 4;
  }
}

std::uint64_t array_bytes(const Array3dDescriptor& array) {
  const std::uint64_t element = channel_bytes(array.format) * std::max(array.channels, 1U);
  const std::uint64_t row = round_up(array.width * element, kBlockWidth);
  const std::uint64_t rows = array.height == 0 ? 1 : round_up(array.height, kBlockRows);
  constexpr std::size_t kOne = 1;
  return round_up(row * rows * std::max(array.depth, kOne), kUnit);
}

/// Each level has half the size of the one before, and as many layers. The driver makes at least
/// one level.
std::uint64_t mipmap_bytes(Array3dDescriptor level, unsigned levels) {
  constexpr unsigned kMostLevels = 32;
  const auto half = [](std::size_t size) { return size > 1 ? size / 2 : size; };
  const bool has_layers = (level.flags & (kArrayLayered | kArrayCubemap)) != 0;
  std::uint64_t bytes = 0;
  for (unsigned i = 0; i < std::clamp(levels, 1U, kMostLevels); ++i) {
    bytes += array_bytes(level);
    level.width = half(level.width);
    level.height = half(level.height);
    if (!has_layers) level.depth = half(level.depth);
  }
  return bytes;
}

/// Such arrays have no memory until some of cuMemCreate() is mapped. They are recorded all the
/// same: what is mapped ends with them.
bool has_no_memory(const Array3dDescriptor& array) {
  return (array.flags & (kArraySparse | kArrayDeferredMapping)) != 0;
}

template <class Create, class Destroy>
CUresult create(const char* call, Kind kind, void* const* handle, std::uint64_t bytes,
                Create&& create_it, Destroy& destroy) {
  const Place place = current_place();
  Reservation reservation(call, place.card, bytes);
  if (!reservation.granted()) return CUDA_ERROR_OUT_OF_MEMORY;
  const CUresult result = create_it();
  if (result != CUDA_SUCCESS || place.card == kNoCard) return result;
  const Thing thing{kind, reinterpret_cast<std::uint64_t>(*handle)};
  if (!record(thing, {place.card, bytes, place.context}, give_back)) {
    (void)destroy(*handle);
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  reservation.keep();
  return result;
}

/// @param wide  the description in today's layout, or null: the driver refuses it
template <class Descriptor, class Driver>
CUresult create_array(const char* call, CUarray* array, const Descriptor* description,
                      const Array3dDescriptor* wide, Driver& driver) {
  const std::uint64_t bytes = wide == nullptr || has_no_memory(*wide) ? 0 : array_bytes(*wide);
  return create(
      call, Kind::kArray, array, bytes, [&] { return driver(array, description); },
      driver::cuArrayDestroy);
}

template <class Descriptor>
Array3dDescriptor flat(const Descriptor& of) {
  return {of.width, of.height, 0, of.format, of.channels, 0};
}

}  // namespace

CUresult cuArrayCreate(CUarray* array, const ArrayDescriptor_v1* of) {
  const Array3dDescriptor wide = of == nullptr ? Array3dDescriptor{} : flat(*of);
  return create_array("cuArrayCreate", array, of, of == nullptr ? nullptr : &wide,
                      driver::cuArrayCreate);
}

CUresult cuArrayCreate_v2(CUarray* array, const ArrayDescriptor* of) {
  const Array3dDescriptor wide = of == nullptr ? Array3dDescriptor{} : flat(*of);
  return create_array("cuArrayCreate", array, of, of == nullptr ? nullptr : &wide,
                      driver::cuArrayCreate_v2);
}

CUresult cuArray3DCreate(CUarray* array, const Array3dDescriptor_v1* of) {
  Array3dDescriptor wide{};
  if (of != nullptr) {
    wide = {of->width, of->height, of->depth, of->format, of->channels, of->flags};
  }
  return create_array("cuArray3DCreate", array, of, of == nullptr ? nullptr : &wide,
                      driver::cuArray3DCreate);
}

CUresult cuArray3DCreate_v2(CUarray* array, const Array3dDescriptor* of) {
  return create_array("cuArray3DCreate", array, of, of, driver::cuArray3DCreate_v2);
}

CUresult cuMipmappedArrayCreate(CUmipmappedArray* array, const Array3dDescriptor* of,
                                unsigned levels) {
  const std::uint64_t bytes = of == nullptr || has_no_memory(*of) ? 0 : mipmap_bytes(*of, levels);
  return create(
      "cuMipmappedArrayCreate", Kind::kMipmap, array, bytes,
      [&] { return driver::cuMipmappedArrayCreate(array, of, levels); },
      driver::cuMipmappedArrayDestroy);
}

CUresult cuArrayDestroy(CUarray array) {
  return end_array(Kind::kArray, array, driver::cuArrayDestroy);
}

CUresult cuMipmappedArrayDestroy(CUmipmappedArray array) {
  return end_array(Kind::kMipmap, array, driver::cuMipmappedArrayDestroy);
}

}  // namespace tangram::shim::cuda
