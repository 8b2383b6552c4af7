#include "shim/forward.hpp"

#include "shim/glibc.hpp"
#include "shim/log.hpp"

#include <dlfcn.h>

#include <cstdint>

extern "C" {
// Made by cmake/StandInLibrary.cmake.
// NOLINTBEGIN(readability-identifier-naming): the symbols' names in assembler
extern std::atomic<void*> tangram_forward_targets[];
extern const char tangram_forward_names[];
extern const std::uint32_t tangram_forward_offsets[];
// NOLINTEND(readability-identifier-naming)
__attribute__((visibility("hidden"))) void* tangram_forward_target(std::uint32_t index);
}

namespace tangram::shim {
namespace {

constinit std::atomic<void*> library{nullptr};
constinit std::atomic<bool> reported{false};

/// Without a lock: another thread may be in the loader, in a constructor that calls this library.
/// To open the same file twice does no harm.
void* open_library() {
  void* handle = library.load(std::memory_order_acquire);
  if (handle != nullptr) return handle;
  handle = dlopen(kStandIn.driver_library, RTLD_NOW | RTLD_LOCAL);
  if (handle != nullptr) {
    library.store(handle, std::memory_order_release);
  } else if (!reported.exchange(true)) {
    const char* const why = dlerror();  // NOLINT(concurrency-mt-unsafe): glibc's is of the thread
    log_line({"cannot load the driver's own library: ", why != nullptr ? why : "no reason given"});
  }
  return handle;
}

}  // namespace

void* driver_function(const char* name) {
  void* const handle = open_library();
  return handle == nullptr ? nullptr : dlsym(handle, name);
}

bool is_driver_loaded() { return library.load(std::memory_order_acquire) != nullptr; }

}  // namespace tangram::shim

void* tangram_forward_target(std::uint32_t index) {
  using namespace tangram::shim;
  void* target = driver_function(&tangram_forward_names[tangram_forward_offsets[index]]);
  const bool is_final = target != nullptr || is_driver_loaded();
  if (target == nullptr) target = reinterpret_cast<void*>(kStandIn.missing);
  if (is_final) tangram_forward_targets[index].store(target, std::memory_order_relaxed);
  return target;
}
