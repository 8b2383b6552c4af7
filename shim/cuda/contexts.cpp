// Contexts: what they hold ends with them, and their limits cost memory.
#include "shim/cuda/contexts.hpp"

#include "shim/cuda/cards.hpp"
#include "shim/cuda/driver.hpp"
#include "shim/cuda/exports.hpp"
#include "shim/cuda/lease.hpp"
#include "shim/cuda/pools.hpp"
#include "shim/cuda/records.hpp"
#include "shim/cuda/virtual_memory.hpp"
#include "shim/mutex.hpp"

#include <array>

namespace tangram::shim::cuda {
namespace {

/// Of each device: while its primary context begins or ends, nobody else begins or ends it.
constinit std::array<Mutex, kMaxDevices> primaries;
/// While a limit of a context is changed.
constinit Mutex limits;

/// What is recorded of a context that may be about to end: the pointers, arrays and limits. Before
/// the driver's call returns, another thread can have a new context with the same handle; so the
/// records are this object's in the meantime, and the context's again unless it ended.
class Ending {
 public:
  explicit Ending(CUcontext context) : context_(context) {
    if (context_ != nullptr) move_charges(context_, this);
  }
  ~Ending() {
    if (context_ != nullptr) move_charges(this, context_);
  }
  Ending(const Ending&) = delete;
  Ending& operator=(const Ending&) = delete;

  /// The driver has destroyed the context.
  void complete() {
    if (context_ == nullptr) return;
    end_with(this);
    settle_pools();
    context_ = nullptr;
  }

 private:
  CUcontext context_;
};

template <class Driver>
CUresult destroy(CUcontext context, Driver& driver) {
  leave_context(context);
  Ending ending(context);
  const CUresult result = driver(context);
  if (result == CUDA_SUCCESS) ending.complete();
  return result;
}

bool has_primary(CUdevice device) {
  unsigned flags = 0;
  int active = 0;
  return driver::cuDevicePrimaryCtxGetState(device, &flags, &active) == CUDA_SUCCESS && active != 0;
}

/// @returns null if the device has none
CUcontext primary_of(CUdevice device) {
  CUcontext context = nullptr;
  if (!has_primary(device) || driver::cuDevicePrimaryCtxRetain(&context, device) != CUDA_SUCCESS) {
    return nullptr;
  }
  (void)driver::cuDevicePrimaryCtxRelease_v2(device);
  return context;
}

/// A release is the end only if it was the last; a reset always is.
template <class Driver>
CUresult end_primary(CUdevice device, bool is_reset, Driver& driver) {
  if (device < 0 || static_cast<std::size_t>(device) >= kMaxDevices) return driver(device);
  const Lock lock(primaries[static_cast<std::size_t>(device)]);
  const CUcontext context = primary_of(device);
  leave_context(context);
  Ending ending(context);
  const CUresult result = driver(device);
  if (result == CUDA_SUCCESS && (is_reset || !has_primary(device))) ending.complete();
  return result;
}

std::uint64_t attribute(CUdevice device, int which) {
  int value = 0;
  const CUresult got = driver::cuDeviceGetAttribute(&value, which, device);
  return got == CUDA_SUCCESS && value > 0 ? static_cast<std::uint64_t>(value) : 0;
}

/// What the driver sets aside on the card for a limit of this value, at most; 0 = nothing.
std::uint64_t bytes_of_limit(CUdevice device, int limit, std::uint64_t value) {
  switch (limit) {
    case kLimitPrintfFifoSize:
    case kLimitMallocHeapSize:
      return value;
    case kLimitStackSize: {  // of every thread that the card can run at a time
      const std::uint64_t threads = attribute(device, kAttributeMultiprocessors) *
                                    attribute(device, kAttributeThreadsPerMultiprocessor);
      std::uint64_t bytes = 0;
      return __builtin_mul_overflow(value, threads, &bytes) ? ~std::uint64_t{0} : bytes;
    }
    default:
      return 0;
  }
}

}  // namespace

void forget_contexts() {
  for (Mutex& mutex : primaries) mutex.reset();
  limits.reset();
}

CUresult cuCtxDestroy(CUcontext context) { return destroy(context, driver::cuCtxDestroy); }
CUresult cuCtxDestroy_v2(CUcontext context) { return destroy(context, driver::cuCtxDestroy_v2); }

/// Ends the context only if nobody else is attached to it.
CUresult cuCtxDetach(CUcontext context) {
  leave_context(context);
  Ending ending(context);
  const CUresult result = driver::cuCtxDetach(context);
  unsigned version = 0;
  if (result == CUDA_SUCCESS && driver::cuCtxGetApiVersion(context, &version) != CUDA_SUCCESS) {
    ending.complete();
  }
  return result;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  if (device < 0 || static_cast<std::size_t>(device) >= kMaxDevices) {
    return driver::cuDevicePrimaryCtxRetain(context, device);
  }
  const Lock lock(primaries[static_cast<std::size_t>(device)]);
  return driver::cuDevicePrimaryCtxRetain(context, device);
}

CUresult cuDevicePrimaryCtxRelease(CUdevice device) {
  return end_primary(device, false, driver::cuDevicePrimaryCtxRelease);
}
CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
  return end_primary(device, false, driver::cuDevicePrimaryCtxRelease_v2);
}
CUresult cuDevicePrimaryCtxReset(CUdevice device) {
  return end_primary(device, true, driver::cuDevicePrimaryCtxReset);
}
CUresult cuDevicePrimaryCtxReset_v2(CUdevice device) {
  return end_primary(device, true, driver::cuDevicePrimaryCtxReset_v2);
}

/// The memory of the limit that the context has is part of the overhead: only more is accounted.
CUresult cuCtxSetLimit(int limit, std::size_t value) {
  const Place place = current_place();
  const Lock lock(limits);
  std::size_t before = 0;
  if (place.card >= kMaxCards || driver::cuCtxGetLimit(&before, limit) != CUDA_SUCCESS) {
    return driver::cuCtxSetLimit(limit, value);
  }
  const std::uint64_t had = bytes_of_limit(place.device, limit, before);
  const std::uint64_t wanted = bytes_of_limit(place.device, limit, value);
  Reservation more("cuCtxSetLimit", place.card, wanted > had ? wanted - had : 0);
  if (!more.granted()) return CUDA_ERROR_OUT_OF_MEMORY;
  const CUresult result = driver::cuCtxSetLimit(limit, value);
  if (result != CUDA_SUCCESS || wanted == had) return result;
  const Thing thing{Kind::kLimit,
                    reinterpret_cast<std::uint64_t>(place.context) + static_cast<unsigned>(limit)};
  const Removal recorded = remove(thing);
  std::uint64_t bytes = recorded.charge.bytes;  // 0 = none
  if (recorded.known && recorded.charge.context != place.context) {
    give_back(recorded.charge);  // of an ended context with the same handle
    bytes = 0;
  }
  if (wanted > had) {
    bytes += wanted - had;
  } else {
    const std::uint64_t less = bytes < had - wanted ? bytes : had - wanted;
    release(place.card, less);
    bytes -= less;
  }
  if (bytes == 0 || record(thing, {place.card, bytes, place.context}, give_back)) more.keep();
  return result;
}

}  // namespace tangram::shim::cuda
