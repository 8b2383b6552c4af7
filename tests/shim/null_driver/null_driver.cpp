// A libcuda.so.1 with one card that does almost nothing: what a call through the stand-in takes
// more than one to this is the stand-in's own. Exports every name of the driver; those that are not
// here say CUDA_ERROR_NOT_SUPPORTED. It needs no library, so it loads beside every libc.

#include "shim/cuda/abi.hpp"

#include <atomic>
#include <cstdint>

using namespace tangram::shim::cuda;  // NOLINT(google-build-using-namespace): C's types

#define NULL_DRIVER extern "C" __attribute__((visibility("default")))

namespace {

struct Version {
  const char* symbol;
  void* function;
  std::int32_t since;
  std::int32_t stream;  ///< -1 = any
};

}  // namespace

// Sorted by symbol, stream and version: of tests/fake_cuda/versions.txt.
extern "C" __attribute__((visibility("hidden"))) const Version null_driver_versions[];  // NOLINT
extern "C" __attribute__((visibility("hidden")))
const Version null_driver_versions_end[];  // NOLINT

namespace {

constinit std::atomic<CUdeviceptr> next_address{0x7f0000000000U};
constinit int context = 0;

int compare(const char* a, const char* b) {
  while (*a != '\0' && *a == *b) {
    ++a;
    ++b;
  }
  return static_cast<unsigned char>(*a) - static_cast<unsigned char>(*b);
}

const Version* first_of(const char* symbol) {
  const Version* from = null_driver_versions;
  auto rows = static_cast<std::size_t>(null_driver_versions_end - null_driver_versions);
  while (rows > 0) {
    const std::size_t half = rows / 2;
    const bool is_before = compare(from[half].symbol, symbol) < 0;
    from += is_before ? half + 1 : 0;
    rows = is_before ? rows - half - 1 : half;
  }
  return from;
}

/// The newest version that is not newer than asked for; null = none.
void* function_of(const char* symbol, int version, std::uint64_t flags) {
  constexpr std::uint64_t kPerThread = 2;
  const std::int32_t stream = flags == kPerThread ? 2 : 0;
  const Version* newest = nullptr;
  for (const Version* row = first_of(symbol);
       row != null_driver_versions_end && compare(row->symbol, symbol) == 0; ++row) {
    if (row->since > version || (row->stream != -1 && row->stream != stream)) continue;
    if (newest == nullptr || row->since > newest->since) newest = row;
  }
  return newest == nullptr ? nullptr : newest->function;
}

void set_uuid(CUuuid* uuid) {
  constexpr unsigned char kEveryByte = 0xa0;
  for (unsigned char& byte : uuid->bytes) byte = kEveryByte;
}

}  // namespace

// NOLINTBEGIN(readability-identifier-naming): the names are NVIDIA's
NULL_DRIVER CUresult cuInit(unsigned /*flags*/) { return CUDA_SUCCESS; }

NULL_DRIVER CUresult cuDriverGetVersion(int* version) {
  *version = 12040;
  return CUDA_SUCCESS;
}

NULL_DRIVER CUresult cuGetProcAddress_v2(const char* symbol, void** function, int version,
                                         std::uint64_t flags, int* status) {
  *function = function_of(symbol, version, flags);
  constexpr int kNotFound = 1;
  if (status != nullptr) *status = *function != nullptr ? 0 : kNotFound;
  return CUDA_SUCCESS;
}

NULL_DRIVER CUresult cuGetProcAddress(const char* symbol, void** function, int version,
                                      std::uint64_t flags) {
  return cuGetProcAddress_v2(symbol, function, version, flags, nullptr);
}

NULL_DRIVER CUresult cuDeviceGetUuid(CUuuid* uuid, CUdevice /*device*/) {
  set_uuid(uuid);
  return CUDA_SUCCESS;
}

NULL_DRIVER CUresult cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice /*device*/) {
  set_uuid(uuid);
  return CUDA_SUCCESS;
}

NULL_DRIVER CUresult cuCtxGetCurrent(CUcontext* current) {
  *current = &context;
  return CUDA_SUCCESS;
}

NULL_DRIVER CUresult cuCtxGetDevice(CUdevice* device) {
  *device = 0;
  return CUDA_SUCCESS;
}

NULL_DRIVER CUresult cuDevicePrimaryCtxRetain(CUcontext* current, CUdevice /*device*/) {
  *current = &context;
  return CUDA_SUCCESS;
}

NULL_DRIVER CUresult cuCtxSetCurrent(CUcontext /*context*/) { return CUDA_SUCCESS; }

NULL_DRIVER CUresult cuCtxSynchronize() { return CUDA_SUCCESS; }

NULL_DRIVER CUresult cuModuleLoadData(void** module, const void* /*text*/) {
  *module = &context;
  return CUDA_SUCCESS;
}

NULL_DRIVER CUresult cuModuleGetFunction(void** function, void* /*module*/, const char* /*name*/) {
  *function = &context;
  return CUDA_SUCCESS;
}

NULL_DRIVER CUresult cuMemAlloc_v2(CUdeviceptr* pointer, std::size_t bytes) {
  *pointer = next_address.fetch_add(bytes, std::memory_order_relaxed);
  return CUDA_SUCCESS;
}

NULL_DRIVER CUresult cuMemFree_v2(CUdeviceptr /*pointer*/) { return CUDA_SUCCESS; }

NULL_DRIVER CUresult cuLaunchKernel(void* /*function*/, unsigned /*grid_x*/, unsigned /*grid_y*/,
                                    unsigned /*grid_z*/, unsigned /*block_x*/, unsigned /*block_y*/,
                                    unsigned /*block_z*/, unsigned /*shared*/, CUstream /*stream*/,
                                    void** /*parameters*/, void** /*extra*/) {
  return CUDA_SUCCESS;
}
// NOLINTEND(readability-identifier-naming)
