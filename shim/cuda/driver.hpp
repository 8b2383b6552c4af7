#pragma once

#include "shim/cuda/abi.hpp"
#include "shim/forward.hpp"

/// The driver's own functions that the stand-in calls.
namespace tangram::shim::cuda::driver {

#define TANGRAM_DRIVER(name, ...) extern DriverFunction<CUresult(__VA_ARGS__)> name;
#include "shim/cuda/driver.inc"
#undef TANGRAM_DRIVER

/// Looks all of them up, so that no lookup waits for the loader with a mutex.
void resolve_all();

}  // namespace tangram::shim::cuda::driver
