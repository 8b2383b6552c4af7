#pragma once

#include "shim/cuda/abi.hpp"
#include "shim/cuda/records.hpp"
#include "shim/forward.hpp"

namespace tangram::shim::cuda {

/// Ends an array or mipmap, and with it what is mapped to it.
CUresult end_array(Kind kind, void* array, DriverFunction<CUresult(void*)>& destroy);

/// The driver has ended a context: gives back what ended with it, mappings to its arrays included.
void end_with(CUcontext context);

/// In a child after fork().
void forget_mappings();

}  // namespace tangram::shim::cuda
