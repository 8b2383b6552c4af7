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

/// A pool and what is accounted for it.
struct Pool {
  CUmemoryPool handle = nullptr;
  std::size_t card = kNoCard;
  std::uint64_t accounted = 0;
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

/// Under the mutex. @returns null if there are too many
Pool* find_or_add(CUmemoryPool handle, std::size_t card) {
  for (std::size_t i = 0; i < pools.count; ++i) {
    if (pools.all[i].handle == handle) return &pools.all[i];
  }
  if (pools.count == kMaxPools) return nullptr;
  pools.all[pools.count] = {.handle = handle, .card = card, .accounted = 0};
  return &pools.all[pools.count++];
}

/// Under the mutex.
/// @param begun  bytes that the caller has accounted for what it allocated in the pool: they count
///               for the pool now
/// @returns whether the container is within its limit: a pool grows by more than was asked for
bool settle(Pool& pool, std::uint64_t begun) {
  if (pool.card >= kMaxCards) return true;
  const std::uint64_t accounted = pool.accounted + begun;
  const std::uint64_t now = read_attribute(pool.handle, kPoolReservedCurrent).value_or(accounted);
  pool.accounted = now;
  if (now < accounted) release(pool.card, accounted - now);
  if (now <= accounted || reserve(pool.card, now - accounted)) return true;
  reserve_anyway(pool.card, now - accounted);
  return false;
}

/// The card of a pool that the stand-in has not seen created: a device's default pool.
std::size_t card_of_pool(CUmemoryPool pool) {
  int count = 0;
  (void)driver::cuDeviceGetCount(&count);
  for (CUdevice device = 0; device < count; ++device) {
    CUmemoryPool of_device = nullptr;
    if (driver::cuDeviceGetDefaultMemPool(&of_device, device) == CUDA_SUCCESS &&
        of_device == pool) {
      return card_of(device);
    }
  }
  return kNoCard;
}

/// @returns kNoCard if it is in no card's memory
std::size_t known_card(CUmemoryPool pool) {
  {
    const Lock lock(pools.mutex);
    for (std::size_t i = 0; i < pools.count; ++i) {
      if (pools.all[i].handle == pool) return pools.all[i].card;
    }
  }
  return card_of_pool(pool);
}

/// What a pool can grow by to serve a request, at most.
std::uint64_t most_growth(std::uint64_t bytes) {
  constexpr std::uint64_t kUnit = 32U << 20U;  // by which the driver's pools grow
  const std::uint64_t rounded = (bytes + kUnit - 1) / kUnit * kUnit;
  return rounded < bytes ? bytes : rounded;
}

bool can_serve(CUmemoryPool pool, std::uint64_t bytes) {
  const auto used = read_attribute(pool, kPoolUsedCurrent);
  const auto reserved = read_attribute(pool, kPoolReservedCurrent);
  return used && reserved && *reserved >= *used && *reserved - *used >= bytes;
}

/// Accounts what the pool can grow by. If that is not to be had, the pool may still serve it from
/// what it has, which is accounted.
/// @param begun  receives what was accounted
bool make_room(CUmemoryPool pool, std::size_t card, std::uint64_t bytes, std::uint64_t& begun) {
  begun = most_growth(bytes);
  if (reserve_or_trim(card, begun)) return true;
  begun = 0;
  return can_serve(pool, bytes);
}

/// The driver has allocated in the pool.
/// @returns as settle(); true also if there are too many pools: then it stays accounted as it is
bool account_in(CUmemoryPool handle, std::size_t card, std::uint64_t begun) {
  const Lock lock(pools.mutex);
  Pool* const pool = find_or_add(handle, card);
  return pool == nullptr || settle(*pool, begun);
}

/// @param allocate  calls the driver, which sets the address at `pointer`
template <class Allocate>
CUresult allocate_in(const char* call, CUmemoryPool pool, std::size_t card, std::uint64_t bytes,
                     const CUdeviceptr* pointer, CUstream stream, Allocate&& allocate) {
  if (card == kNoCard) return allocate();
  std::uint64_t begun = 0;
  const bool granted = card != kUnknownCard && make_room(pool, card, bytes, begun);
  const CUresult result = granted ? allocate() : CUDA_ERROR_OUT_OF_MEMORY;
  if (granted && result != CUDA_SUCCESS) release(card, begun);
  if (granted && result == CUDA_SUCCESS) {
    if (account_in(pool, card, begun)) return result;
    (void)driver::cuMemFreeAsync(*pointer, stream);
    trim_pools(card, bytes);
  }
  if (card != kUnknownCard && (!granted || result == CUDA_SUCCESS)) log_refusal(call, card, bytes);
  return result == CUDA_SUCCESS ? CUDA_ERROR_OUT_OF_MEMORY : result;
}

/// An allocation in a capture becomes a node of the graph, which takes memory only when it runs.
void note_capture(const Place& place, CUstream stream, bool per_thread) {
  int capturing = 0;
  const CUresult known = per_thread ? driver::cuStreamIsCapturing_ptsz(stream, &capturing)
                                    : driver::cuStreamIsCapturing(stream, &capturing);
  if (known == CUDA_SUCCESS && capturing != 0) expect_graph_memory(place.card, place.device);
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
  note_capture(place, stream, per_thread);
  return allocate_in("cuMemAllocAsync", pool, known_card(pool), bytes, pointer, stream,
                     [&] { return driver(pointer, bytes, stream); });
}

template <class Driver>
CUresult allocate_from(CUdeviceptr* pointer, std::size_t bytes, CUmemoryPool pool, CUstream stream,
                       Driver& driver) {
  return allocate_in("cuMemAllocFromPoolAsync", pool, known_card(pool), bytes, pointer, stream,
                     [&] { return driver(pointer, bytes, pool, stream); });
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
    if (pool.card != card) continue;
    const auto reserved = read_attribute(pool.handle, kPoolReservedCurrent);
    if (!reserved) continue;
    const std::uint64_t keep = *reserved > wanted ? *reserved - wanted : 0;
    (void)driver::cuMemPoolTrimTo(pool.handle, keep);
    (void)settle(pool, 0);
    wanted -= std::min(wanted, *reserved - std::min(*reserved, pool.accounted));
  }
}

bool reserve_or_trim(std::size_t card, std::uint64_t bytes) {
  if (reserve(card, bytes)) return true;
  if (pools.count.load(std::memory_order_relaxed) == 0) return false;
  settle_pools();
  if (reserve(card, bytes)) return true;
  trim_pools(card, bytes);
  return reserve(card, bytes);
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
  return allocate_from(pointer, bytes, pool, stream, driver::cuMemAllocFromPoolAsync);
}

CUresult cuMemAllocFromPoolAsync_ptsz(CUdeviceptr* pointer, std::size_t bytes, CUmemoryPool pool,
                                      CUstream stream) {
  return allocate_from(pointer, bytes, pool, stream, driver::cuMemAllocFromPoolAsync_ptsz);
}

CUresult cuMemPoolCreate(CUmemoryPool* pool, const CUmemPoolProps* properties) {
  const std::size_t card = properties == nullptr ? kNoCard : card_of(properties->location);
  const CUresult result = driver::cuMemPoolCreate(pool, properties);
  if (result != CUDA_SUCCESS) return result;
  const Lock lock(pools.mutex);
  if (find_or_add(*pool, card) != nullptr) return result;
  (void)driver::cuMemPoolDestroy(*pool);
  return CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuMemPoolDestroy(CUmemoryPool handle) {
  const Lock lock(pools.mutex);
  const auto* const end = pools.all.begin() + pools.count;
  auto* const pool = std::find_if(pools.all.begin(), pools.all.begin() + pools.count,
                                  [&](const Pool& each) { return each.handle == handle; });
  std::uint64_t used = 0;
  if (pool != end) used = read_attribute(handle, kPoolUsedCurrent).value_or(pool->accounted);
  const CUresult result = driver::cuMemPoolDestroy(handle);
  if (pool == end || result != CUDA_SUCCESS) return result;
  if (pool->card < kMaxCards && pool->accounted > used) release(pool->card, pool->accounted - used);
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
