#include "shim/cuda/driver.hpp"

#include "shim/pages.hpp"

namespace tangram::shim {
namespace {

int missing() { return cuda::CUDA_ERROR_NOT_FOUND; }

}  // namespace

constinit const StandIn kStandIn{kCudaPath.data(), missing};

}  // namespace tangram::shim

namespace tangram::shim::cuda::driver {

#define TANGRAM_DRIVER(name, ...) constinit DriverFunction<CUresult(__VA_ARGS__)> name{#name};
#include "shim/cuda/driver.inc"
#undef TANGRAM_DRIVER

void resolve_all() {
#define TANGRAM_DRIVER(name, ...) name.resolve();
#include "shim/cuda/driver.inc"
#undef TANGRAM_DRIVER
}

}  // namespace tangram::shim::cuda::driver
