#include "shim/cuda/pools.hpp"

#include "shim/cuda/cards.hpp"
#include "shim/cuda/driver.hpp"
#include "shim/cuda/exports.hpp"
#include "shim/cuda/graphs.hpp"
#include "shim/mutex.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <optional>

namespace tangram::shim::cuda {
namespace {

/// Where the memory of a pool is.
struct Home {
  std::size_t card = kNoCard;
  CUdevice device = -1;
  bool managed = false;  ///< without a place: it counts where it was first asked for
};

/// A pool and what is accounted for it.
struct Pool {
  CUmemoryPool handle = nullptr;
  Home home;
  std::uint64_t accounted = 0;
  std::uint64_t in_flight = 0;  ///< accounted by threads that allocate in it now
  bool exported = false;        ///< another process can keep its memory
};

/// More pools than programs have: their frameworks use one or two for each card.
constexpr std::size_t kMaxPools = 256;

struct Pools {
  Mutex mutex;
  std::array<Pool, kMaxPools> all;
  std::atomic<std::size_t> count{0};  ///< written under the mutex
};
constinit Pools pools;

/// @returns nothing if the driver does not say, as after an error in a kernel
std::optional<std::uint64_t> read_attribute(CUmemoryPool pool, int attribute) {
  std::uint64_t bytes = 0;
  if (driver::cuMemPoolGetAttribute(pool, attribute, &bytes) != CUDA_SUCCESS) return {};
  return bytes;
}

/// Under the mutex. @returns null if it is not known
Pool* find(CUmemoryPool handle) {
  for (std::size_t i = 0; i < pools.count; ++i) {
    if (pools.all[i].handle == handle) return &pools.all[i];
  }
  return nullptr;
}

/// Under the mutex. @returns null if there are too many
Pool* find_or_add(CUmemoryPool handle, const Home& home) {
  if (Pool* const pool = find(handle); pool != nullptr) {
    if (pool->home.card == kNoCard) pool->home = home;
    return pool;
  }
  if (pools.count == kMaxPools) return nullptr;
  pools.all[pools.count] = {.handle = handle, .home = home};
  return &pools.all[pools.count++];
}

/// Under the mutex.
/// @param begun  bytes that the caller has accounted for what it allocated in the pool: they count
///               for the pool now
/// @returns whether the container is within its limit: a pool grows by more than was asked for
bool settle(Pool& pool, std::uint64_t begun) {
  if (pool.home.card >= kMaxCards) return true;
  const std::uint64_t accounted = pool.accounted + begun;
  const std::uint64_t all = read_attribute(pool.handle, kPoolReservedCurrent).value_or(accounted);
  // What it has grown by for other threads is accounted by them, until they settle it.
  const std::uint64_t theirs = all > accounted ? std::min(all - accounted, pool.in_flight) : 0;
  const std::uint64_t now = all - theirs;
  pool.accounted = now;
  if (now < accounted) release(pool.home.card, accounted - now);
  if (now <= accounted || reserve(pool.home.card, now - accounted)) return true;
  reserve_anyway(pool.home.card, now - accounted);
  return false;
}

/// Of a pool that the stand-in has not seen created: a device's default pool.
Home default_home(CUmemoryPool pool) {
  int count = 0;
  (void)driver::cuDeviceGetCount(&count);
  for (CUdevice device = 0; device < count; ++device) {
    CUmemoryPool of_device = nullptr;
    if (driver::cuDeviceGetDefaultMemPool(&of_device, device) == CUDA_SUCCESS &&
        of_device == pool) {
      return {card_of(device), device, false};
    }
  }
  return {};
}

/// @returns kNoCard if it is in no card's memory
Home home_of(CUmemoryPool pool) {
  {
    const Lock lock(pools.mutex);
    if (const Pool* const known = find(pool); known != nullptr) return known->home;
  }
  return default_home(pool);
}

/// Managed memory moves, so it counts where the program is; without a context, where it allocates
/// first.
Home home_of(int type, const CUmemLocation& location) {
  const CUdevice device = device_of(location);
  if (type != kAllocationManaged || device >= 0) return {card_of(device), device, false};
  const Place place = current_place();
  return {place.card, place.device, true};
}

/// What a pool can grow by to serve a request, at most.
std::uint64_t most_growth(std::uint64_t bytes) {
  constexpr std::uint64_t kUnit = 32U << 20U;  // by which the driver's pools grow
  const std::uint64_t rounded = (bytes + kUnit - 1) / kUnit * kUnit;
  return rounded < bytes ? bytes : rounded;
}

/// In this order: what another thread allocates between the two counts as used. The other way
/// round, what the pool has grown by for that thread would pass for idle.
bool can_serve(CUmemoryPool pool, std::uint64_t bytes) {
  const auto reserved = read_attribute(pool, kPoolReservedCurrent);
  const auto used = read_attribute(pool, kPoolUsedCurrent);
  return used && reserved && *reserved >= *used && *reserved - *used >= bytes;
}

/// A thread that has accounted these bytes is about to allocate in the pool.
void begin_in(CUmemoryPool handle, const Home& home, std::uint64_t begun) {
  const Lock lock(pools.mutex);
  if (Pool* const pool = find_or_add(handle, home); pool != nullptr) pool->in_flight += begun;
}

/// Under the mutex.
void end_in(Pool& pool, std::uint64_t begun) {
  pool.in_flight -= std::min(begun, pool.in_flight);  // it may not have been known at first
}

/// The driver has allocated in the pool.
/// @returns as settle(); true also if there are too many pools: then it stays accounted as it is
bool account_in(CUmemoryPool handle, const Home& home, std::uint64_t begun) {
  const Lock lock(pools.mutex);
  Pool* const pool = find_or_add(handle, home);
  if (pool == nullptr) return true;
  end_in(*pool, begun);
  return settle(*pool, begun);
}

/// The driver has refused to. What others have made the pool grow by may have passed for this
/// thread's: it is accounted before this thread's goes.
void abandon_in(CUmemoryPool handle, const Home& home, std::uint64_t begun) {
  const Lock lock(pools.mutex);
  if (Pool* const pool = find(handle); pool != nullptr) {
    end_in(*pool, begun);
    (void)settle(*pool, 0);
  }
  release(home.card, begun);
}

/// What a stream is asked for.
struct Request {
  const char* call;
  std::uint64_t bytes;
  CUstream stream;
  bool per_thread;  ///< what the null stream is
};

void undo(const Request& request, CUdeviceptr pointer) {
  (void)(request.per_thread ? driver::cuMemFreeAsync_ptsz(pointer, request.stream)
                            : driver::cuMemFreeAsync(pointer, request.stream));
}

CUresult refuse(const Request& request, std::size_t card) {
  log_refusal(request.call, card, request.bytes);
  return CUDA_ERROR_OUT_OF_MEMORY;
}

/// The pool has grown by more than there is room for.
CUresult take_back(const Request& request, std::size_t card, CUdeviceptr pointer) {
  undo(request, pointer);
  trim_pools(card, request.bytes);
  return refuse(request, card);
}

/// The pool may serve it from what it has, which is accounted. No pool is settled meanwhile: what
/// another thread has freed would be granted to a third, and then this one could make it grow.
template <class Allocate>
CUresult allocate_from_rest(const Request& request, CUmemoryPool handle, const Home& home,
                            const CUdeviceptr* pointer, Allocate&& allocate) {
  {
    const Lock lock(pools.mutex);
    if (!can_serve(handle, request.bytes)) return refuse(request, home.card);
    const CUresult result = allocate();
    if (result != CUDA_SUCCESS) return result;
    Pool* const pool = find_or_add(handle, home);
    if (pool == nullptr || settle(*pool, 0)) return result;
  }
  return take_back(request, home.card, *pointer);
}

/// @param allocate  calls the driver, which sets the address at `pointer`
template <class Allocate>
CUresult allocate_in(const Request& request, CUmemoryPool pool, const Home& home,
                     const CUdeviceptr* pointer, Allocate&& allocate) {
  const std::uint64_t growth = most_growth(request.bytes);
  if (!reserve_or_trim(home.card, growth)) {
    return allocate_from_rest(request, pool, home, pointer, allocate);
  }
  begin_in(pool, home, growth);
  const CUresult result = allocate();
  if (result != CUDA_SUCCESS) {
    abandon_in(pool, home, growth);
    return result;
  }
  return account_in(pool, home, growth) ? result : take_back(request, home.card, *pointer);
}

/// An allocation in a capture becomes a node of the graph, which takes memory only when it runs.
template <class Allocate>
CUresult allocate(const Request& request, CUmemoryPool pool, const Home& home,
                  const CUdeviceptr* pointer, Allocate&& allocate_it) {
  if (home.card == kNoCard) return allocate_it();
  if (home.card == kUnknownCard) return CUDA_ERROR_OUT_OF_MEMORY;
  const Capture capture = capture_of(request.stream, request.per_thread);
  if (!capture.active) return allocate_in(request, pool, home, pointer, allocate_it);
  if (capture.graph != nullptr) {
    return add_memory(request.call, capture.graph, home.card, home.device, request.bytes,
                      allocate_it);
  }
  expect_graph_memory(home.card, home.device);
  return allocate_it();
}

template <class Driver>
CUresult allocate_async(CUdeviceptr* pointer, std::size_t bytes, CUstream stream, bool per_thread,
                        Driver& driver) {
  const Place place = place_of(stream, per_thread);
  if (place.card >= kMaxCards) {
    return place.card == kNoCard ? driver(pointer, bytes, stream) : CUDA_ERROR_OUT_OF_MEMORY;
  }
  CUmemoryPool pool = nullptr;
  if (const CUresult got = driver::cuDeviceGetMemPool(&pool, place.device); got != CUDA_SUCCESS) {
    return got;
  }
  return allocate({"cuMemAllocAsync", bytes, stream, per_thread}, pool, home_of(pool), pointer,
                  [&] { return driver(pointer, bytes, stream); });
}

template <class Driver>
CUresult allocate_from(CUdeviceptr* pointer, std::size_t bytes, CUmemoryPool pool, CUstream stream,
                       bool per_thread, Driver& driver) {
  Home home = home_of(pool);
  if (home.managed && home.card == kNoCard) {
    const Place place = place_of(stream, per_thread);
    home = {place.card, place.device, true};
  }
  return allocate({"cuMemAllocFromPoolAsync", bytes, stream, per_thread}, pool, home, pointer,
                  [&] { return driver(pointer, bytes, pool, stream); });
}

/// The driver has named a pool that it has made itself.
CUresult note_pool(CUmemoryPool pool, const CUmemLocation& location, int type) {
  const Home home = home_of(type, location);
  if (home.card == kNoCard && !home.managed) return CUDA_SUCCESS;
  const Lock lock(pools.mutex);
  (void)find_or_add(pool, home);
  return CUDA_SUCCESS;
}

}  // namespace

void settle_pools() {
  if (pools.count.load(std::memory_order_relaxed) == 0) return;
  const Lock lock(pools.mutex);
  for (std::size_t i = 0; i < pools.count; ++i) (void)settle(pools.all[i], 0);
}

void trim_pools(std::size_t card, std::uint64_t wanted) {
  const Lock lock(pools.mutex);
  for (std::size_t i = 0; i < pools.count && wanted > 0; ++i) {
    Pool& pool = pools.all[i];
    if (pool.home.card != card) continue;
    const auto reserved = read_attribute(pool.handle, kPoolReservedCurrent);
    if (!reserved) continue;
    const std::uint64_t keep = *reserved > wanted ? *reserved - wanted : 0;
    (void)driver::cuMemPoolTrimTo(pool.handle, keep);
    (void)settle(pool, 0);
    const std::uint64_t left =
        read_attribute(pool.handle, kPoolReservedCurrent).value_or(*reserved);
    wanted -= std::min(wanted, *reserved - std::min(*reserved, left));
  }
}

bool reserve_or_trim(std::size_t card, std::uint64_t bytes, std::uint64_t rounding) {
  if (reserve(card, bytes, rounding)) return true;
  if (pools.count.load(std::memory_order_relaxed) == 0) return false;
  settle_pools();
  if (reserve(card, bytes, rounding)) return true;
  trim_pools(card, bytes);
  return reserve(card, bytes, rounding);
}

void forget_pools() {
  pools.mutex.reset();
  pools.count = 0;
}

CUresult cuMemAllocAsync(CUdeviceptr* pointer, std::size_t bytes, CUstream stream) {
  return allocate_async(pointer, bytes, stream, false, driver::cuMemAllocAsync);
}

CUresult cuMemAllocAsync_ptsz(CUdeviceptr* pointer, std::size_t bytes, CUstream stream) {
  return allocate_async(pointer, bytes, stream, true, driver::cuMemAllocAsync_ptsz);
}

CUresult cuMemAllocFromPoolAsync(CUdeviceptr* pointer, std::size_t bytes, CUmemoryPool pool,
                                 CUstream stream) {
  return allocate_from(pointer, bytes, pool, stream, false, driver::cuMemAllocFromPoolAsync);
}

CUresult cuMemAllocFromPoolAsync_ptsz(CUdeviceptr* pointer, std::size_t bytes, CUmemoryPool pool,
                                      CUstream stream) {
  return allocate_from(pointer, bytes, pool, stream, true, driver::cuMemAllocFromPoolAsync_ptsz);
}

CUresult cuMemPoolCreate(CUmemoryPool* pool, const CUmemPoolProps* properties) {
  Home home;
  if (properties != nullptr) home = home_of(properties->alloc_type, properties->location);
  const CUresult result = driver::cuMemPoolCreate(pool, properties);
  if (result != CUDA_SUCCESS) return result;
  const Lock lock(pools.mutex);
  if (find_or_add(*pool, home) != nullptr) return result;
  (void)driver::cuMemPoolDestroy(*pool);
  return CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuMemGetDefaultMemPool(CUmemoryPool* pool, CUmemLocation* location, int type) {
  const CUresult result = driver::cuMemGetDefaultMemPool(pool, location, type);
  return result == CUDA_SUCCESS ? note_pool(*pool, *location, type) : result;
}

CUresult cuMemGetMemPool(CUmemoryPool* pool, CUmemLocation* location, int type) {
  const CUresult result = driver::cuMemGetMemPool(pool, location, type);
  return result == CUDA_SUCCESS ? note_pool(*pool, *location, type) : result;
}

CUresult cuMemPoolExportToShareableHandle(void* shareable, CUmemoryPool handle, int type,
                                          std::uint64_t flags) {
  const Lock lock(pools.mutex);
  const CUresult result = driver::cuMemPoolExportToShareableHandle(shareable, handle, type, flags);
  Pool* const pool = find(handle);
  if (result == CUDA_SUCCESS && pool != nullptr) pool->exported = true;
  return result;
}

CUresult cuMemPoolDestroy(CUmemoryPool handle) {
  const Lock lock(pools.mutex);
  Pool* const pool = find(handle);
  std::uint64_t used = 0;
  if (pool != nullptr) {
    used = pool->exported ? pool->accounted
                          : read_attribute(handle, kPoolUsedCurrent).value_or(pool->accounted);
  }
  const CUresult result = driver::cuMemPoolDestroy(handle);
  if (pool == nullptr || result != CUDA_SUCCESS) return result;
  if (pool->home.card < kMaxCards && pool->accounted > used)
    release(pool->home.card, pool->accounted - used);
  *pool = pools.all[--pools.count];
  return result;
}

CUresult cuMemPoolSetAttribute(CUmemoryPool pool, int attribute, void* value) {
  const CUresult result = driver::cuMemPoolSetAttribute(pool, attribute, value);
  settle_pools();  // a lower release threshold gives memory back
  return result;
}

CUresult cuMemPoolTrimTo(CUmemoryPool pool, std::size_t bytes_to_keep) {
  const CUresult result = driver::cuMemPoolTrimTo(pool, bytes_to_keep);
  settle_pools();
  return result;
}

}  // namespace tangram::shim::cuda
