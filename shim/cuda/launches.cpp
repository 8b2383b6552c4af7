// Launches of kernels, which wait for their turn if the card's time is leased, the calls in which a
// program waits for them, and those that end their streams. Graphs are in graphs.cpp.
#include "shim/cuda/driver.hpp"
#include "shim/cuda/exports.hpp"
#include "shim/cuda/lease.hpp"

namespace tangram::shim::cuda {
namespace {

CUstream stream_of(const LaunchConfig* config) {
  return config == nullptr ? nullptr : config->stream;
}

CUresult settled(CUresult result) {
  settle_lease(nullptr);
  return result;
}
CUresult settled(CUresult result, const Work& waited) {
  settle_lease(&waited);
  return result;
}

}  // namespace

#define TANGRAM_LAUNCH_KERNEL(name, is_per_thread)                                           \
  CUresult name(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z,           \
                unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes, \
                CUstream stream, void** parameters, void** extra) {                          \
    return launch_in_turn({.stream = stream, .per_thread = (is_per_thread)}, [&] {           \
      return driver::name(function, grid_x, grid_y, grid_z, block_x, block_y, block_z,       \
                          shared_bytes, stream, parameters, extra);                          \
    });                                                                                      \
  }
TANGRAM_LAUNCH_KERNEL(cuLaunchKernel, false)
TANGRAM_LAUNCH_KERNEL(cuLaunchKernel_ptsz, true)

#define TANGRAM_LAUNCH_EX(name, is_per_thread)                                                 \
  CUresult name(const LaunchConfig* config, void* function, void** parameters, void** extra) { \
    return launch_in_turn({.stream = stream_of(config), .per_thread = (is_per_thread)},        \
                          [&] { return driver::name(config, function, parameters, extra); });  \
  }
TANGRAM_LAUNCH_EX(cuLaunchKernelEx, false)
TANGRAM_LAUNCH_EX(cuLaunchKernelEx_ptsz, true)

#define TANGRAM_LAUNCH_COOPERATIVE(name, is_per_thread)                                      \
  CUresult name(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z,           \
                unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes, \
                CUstream stream, void** parameters) {                                        \
    return launch_in_turn({.stream = stream, .per_thread = (is_per_thread)}, [&] {           \
      return driver::name(function, grid_x, grid_y, grid_z, block_x, block_y, block_z,       \
                          shared_bytes, stream, parameters);                                 \
    });                                                                                      \
  }
TANGRAM_LAUNCH_COOPERATIVE(cuLaunchCooperativeKernel, false)
TANGRAM_LAUNCH_COOPERATIVE(cuLaunchCooperativeKernel_ptsz, true)

/// Timed on the current context's card, as one of the launches.
CUresult cuLaunchCooperativeKernelMultiDevice(CooperativeLaunch* launches, unsigned count,
                                              unsigned flags) {
  const CUstream stream = launches == nullptr || count == 0 ? nullptr : launches->stream;
  return launch_in_turn({.stream = stream}, [&] {
    return driver::cuLaunchCooperativeKernelMultiDevice(launches, count, flags);
  });
}

CUresult cuLaunch(void* function) {
  return launch_in_turn({}, [&] { return driver::cuLaunch(function); });
}
CUresult cuLaunchGrid(void* function, int width, int height) {
  return launch_in_turn({}, [&] { return driver::cuLaunchGrid(function, width, height); });
}
CUresult cuLaunchGridAsync(void* function, int width, int height, CUstream stream) {
  return launch_in_turn({.stream = stream},
                        [&] { return driver::cuLaunchGridAsync(function, width, height, stream); });
}

CUresult cuStreamDestroy(CUstream stream) {
  leave_stream(stream);
  return driver::cuStreamDestroy(stream);
}
CUresult cuStreamDestroy_v2(CUstream stream) {
  leave_stream(stream);
  return driver::cuStreamDestroy_v2(stream);
}

CUresult cuStreamSynchronize(CUstream stream) {
  return settled(driver::cuStreamSynchronize(stream), {.stream = stream});
}
CUresult cuStreamSynchronize_ptsz(CUstream stream) {
  return settled(driver::cuStreamSynchronize_ptsz(stream), {.stream = stream, .per_thread = true});
}
CUresult cuEventSynchronize(CUevent event) { return settled(driver::cuEventSynchronize(event)); }
CUresult cuCtxSynchronize() { return settled(driver::cuCtxSynchronize()); }
CUresult cuCtxSynchronize_v2(CUcontext context) {
  return settled(driver::cuCtxSynchronize_v2(context));
}

}  // namespace tangram::shim::cuda
