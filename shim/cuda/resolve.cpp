// Which function a program gets. It asks by name and CUDA version, and only the driver knows which
// of its functions that is; so the driver is asked, and if the answer is the address of a function
// that is intercepted, the program gets ours.
#include "shim/cuda/cards.hpp"
#include "shim/cuda/contexts.hpp"
#include "shim/cuda/driver.hpp"
#include "shim/cuda/exports.hpp"
#include "shim/cuda/graphs.hpp"
#include "shim/cuda/lease.hpp"
#include "shim/cuda/pools.hpp"
#include "shim/cuda/records.hpp"
#include "shim/cuda/virtual_memory.hpp"
#include "shim/log.hpp"
#include "shim/mutex.hpp"

#include <array>
#include <atomic>
#include <string_view>

namespace tangram::shim::cuda {
namespace {

constinit const std::string_view kIntercepted[] = {
// NOLINT(modernize-avoid-c-arrays): it is counted
#define TANGRAM_INTERCEPT(name) #name,
#include "shim/cuda/intercepts.inc"
#undef TANGRAM_INTERCEPT
};

/// Ours by the address of the driver's, in a table with open addressing.
struct Intercepts {
  Mutex mutex;
  std::atomic<bool> filled{false};
  struct Pair {
    void* driver = nullptr;
    void* ours = nullptr;
  };
  static constexpr std::size_t kSize = 256;  // a power of two, at most half full
  static_assert(std::size(kIntercepted) * 2 <= kSize);
  std::array<Pair, kSize> pairs;
};
constinit Intercepts intercepts;

Intercepts::Pair& place_of(void* driver) {
  constexpr std::size_t kAlignment = 16;
  std::size_t at = reinterpret_cast<std::size_t>(driver) / kAlignment;
  while (true) {
    Intercepts::Pair& pair = intercepts.pairs[at++ % Intercepts::kSize];
    if (pair.driver == driver || pair.driver == nullptr) return pair;
  }
}

/// The lookups come before the lock: they wait for the loader, whose lock another thread can have
/// in a constructor that waits for ours.
void fill() {
  if (intercepts.filled.load(std::memory_order_acquire)) return;
  void* const ours[] = {
  // NOLINT(modernize-avoid-c-arrays)
#define TANGRAM_INTERCEPT(name) reinterpret_cast<void*>(name),
#include "shim/cuda/intercepts.inc"
#undef TANGRAM_INTERCEPT
  };
  std::array<void*, std::size(kIntercepted)> of_driver{};
  for (std::size_t i = 0; i < of_driver.size(); ++i) {
    of_driver[i] = driver_function(kIntercepted[i].data());
  }
  const Lock lock(intercepts.mutex);
  if (intercepts.filled.load(std::memory_order_relaxed)) return;
  for (std::size_t i = 0; i < of_driver.size(); ++i) {
    if (of_driver[i] != nullptr) place_of(of_driver[i]) = {of_driver[i], ours[i]};
  }
  intercepts.filled.store(true, std::memory_order_release);
}

/// Is a function of this name intercepted, in any version of it? A runtime asks for hundreds of
/// names: most are told apart by their length alone.
bool is_intercepted(std::string_view symbol) {
  for (const std::string_view name : kIntercepted) {
    if (name.size() < symbol.size()) continue;
    if (name.size() > symbol.size() && name[symbol.size()] != '_') continue;
    if (name.starts_with(symbol)) return true;
  }
  return false;
}

/// @returns whether the program may have this function. A version that this library does not know
///          would allocate memory that nobody accounts.
bool substitute(const char* symbol, void** function) {
  if (symbol == nullptr || function == nullptr || *function == nullptr) return true;
  fill();
  const Intercepts::Pair& pair = place_of(*function);
  if (pair.driver != nullptr) {
    *function = pair.ours;
    return true;
  }
  if (!is_intercepted(symbol)) return true;
  log_line({"the driver has a version of ", symbol,
            "() that Tangram's library does not know; "
            "update Tangram"});
  *function = nullptr;
  return false;
}

void in_child_after_fork() {
  forget_records();
  forget_mappings();
  forget_pools();
  forget_graphs();
  forget_contexts();
  forget_lease();
  intercepts.mutex.reset();
}

}  // namespace

CUresult cuInit(unsigned flags) {
  driver::resolve_all();
  on_fork(in_child_after_fork);
  if (!attach()) return CUDA_ERROR_OPERATING_SYSTEM;
  start_lease();
  return driver::cuInit(flags);
}

CUresult cuGetProcAddress(const char* symbol, void** function, int version, std::uint64_t flags) {
  const CUresult result = driver::cuGetProcAddress(symbol, function, version, flags);
  if (result != CUDA_SUCCESS) return result;
  return substitute(symbol, function) ? result : CUDA_ERROR_NOT_FOUND;
}

CUresult cuGetProcAddress_v2(const char* symbol, void** function, int version, std::uint64_t flags,
                             int* status) {
  const CUresult result = driver::cuGetProcAddress_v2(symbol, function, version, flags, status);
  if (result != CUDA_SUCCESS || substitute(symbol, function)) return result;
  constexpr int kSymbolNotFound = 1;
  if (status != nullptr) *status = kSymbolNotFound;
  return status != nullptr ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

}  // namespace tangram::shim::cuda
