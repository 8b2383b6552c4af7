#include "shim/forward.hpp"
#include "shim/nvml/abi.hpp"
#include "shim/nvml/calls.hpp"
#include "shim/pages.hpp"

namespace tangram::shim {
namespace {

/// Programs tell a driver that lacks a function, which is old, from one that is not there.
int missing() {
  return driver_function("nvmlShutdown") != nullptr ? nvml::kFunctionNotFound
                                                    : nvml::kLibraryNotFound;
}

}  // namespace

constinit const StandIn kStandIn{kNvmlPath.data(), missing};

// NOLINTBEGIN(readability-identifier-naming): the names are NVIDIA's
TANGRAM_NVML const char* nvmlErrorString(int code) {
  using Function = const char* (*)(int);
  const auto own = reinterpret_cast<Function>(driver_function("nvmlErrorString"));
  return own != nullptr ? own(code) : "the driver's own NVML library cannot be loaded";
}
// NOLINTEND(readability-identifier-naming)

}  // namespace tangram::shim
