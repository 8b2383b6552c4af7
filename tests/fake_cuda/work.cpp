// Kernels and events. A kernel takes as many nanoseconds as its function's handle says.
#include "tests/fake_cuda/machine.hpp"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

namespace fake_cuda {
namespace {

constexpr CUresult kNotReady = 600;

/// When it was reached, or will be; 0 = never recorded.
struct Event {
  std::uint64_t at_ns = 0;
};

std::uint64_t now_ns() {
  if (const std::uint64_t scripted = machine().file->clock_ns; scripted != 0) return scripted;
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::nanoseconds(now).count());
}

std::uint64_t end_of(CUstream stream) {
  const std::lock_guard guard(machine().mutex);
  return machine().stream_ends_ns[stream];
}

std::uint64_t end_of_all() {
  const std::lock_guard guard(machine().mutex);
  std::uint64_t end = 0;
  for (const auto& [stream, ends] : machine().stream_ends_ns) end = std::max(end, ends);
  return end;
}

/// For what measures what is around a launch: not even counted.
constexpr std::uint64_t kNothing = ~std::uint64_t{0};

std::uint64_t as_number(const void* pointer) { return reinterpret_cast<std::uint64_t>(pointer); }

/// The function of each module: it does as many rounds as its second parameter says.
int rounds_function = 0;
constexpr std::uint64_t kRoundNs = 25;

std::uint64_t time_of(const void* function, const LaunchArguments& arguments) {
  if (function != &rounds_function) return as_number(function);
  constexpr std::size_t kParameters = 8;
  const auto* const parameters = reinterpret_cast<void* const*>(arguments[kParameters]);
  return kRoundNs * *static_cast<const std::uint32_t*>(parameters[1]);
}

/// @param stream  as stream_of() says
CUresult launch(const void* function, const LaunchArguments& arguments, CUstream stream) {
  if (as_number(function) == kNothing) return CUDA_SUCCESS;
  if (current_context() == nullptr) return kInvalidContext;
  hold_if_wanted(machine().file->hold_launch);
  if (auto* const tool = std::exchange(machine().in_launch, nullptr); tool != nullptr) tool();
  machine().file->last_launch = arguments;
  machine().file->launches.fetch_add(1, std::memory_order_relaxed);
  const std::uint64_t ns = time_of(function, arguments);
  if (ns == 0) return CUDA_SUCCESS;
  const std::lock_guard guard(machine().mutex);
  if (machine().capturing != nullptr) {
    machine().capturing->kernels_ns += ns;
  } else {
    run_on_card(stream, ns);
  }
  return CUDA_SUCCESS;
}

CUresult wait_until(std::uint64_t at_ns) {
  const std::uint64_t now = now_ns();
  if (at_ns > now && machine().file->clock_ns != 0) {
    machine().file->clock_ns = at_ns;
    return CUDA_SUCCESS;
  }
  if (at_ns > now) std::this_thread::sleep_for(std::chrono::nanoseconds(at_ns - now));
  return CUDA_SUCCESS;
}

/// @param stream  as stream_of() says; null = all
CUresult synchronize(CUstream stream) {
  if (const int failure = machine().file->fail_waits; failure != 0) return failure;
  (void)wait_until(stream == nullptr ? end_of_all() : end_of(stream));
  end_freed_in(stream);
  return CUDA_SUCCESS;
}

CUresult launch_kernel(void* function, const LaunchArguments& arguments, bool per_thread) {
  constexpr std::size_t kStream = 7;
  auto* const stream = reinterpret_cast<CUstream>(arguments[kStream]);
  return launch(function, arguments, stream_of(stream, per_thread));
}

CUresult record(CUevent event, CUstream stream) {
  if (machine().capturing != nullptr) return kNotSupported;  // so that a test sees it
  const std::lock_guard guard(machine().mutex);
  if (machine().destroyed_streams.contains(stream)) ++machine().file->dead_recorded;
  static_cast<Event*>(event)->at_ns = std::max(now_ns(), end_of(stream));
  return CUDA_SUCCESS;
}

}  // namespace

CUstream stream_of(CUstream stream, bool per_thread) {
  constexpr std::uint64_t kPerThread = 2;
  thread_local char own_stream = 0;
  if (as_number(stream) == kPerThread || (stream == nullptr && per_thread)) return &own_stream;
  return stream == nullptr ? current_context() : stream;
}

void run_on_card(CUstream stream, std::uint64_t ns) {
  if (ns == 0) return;
  Machine& own = machine();
  const auto device = static_cast<std::size_t>(current_context()->device);
  const CardLock lock(*own.file);
  std::uint64_t& end =
      own.file->side_by_side ? own.stream_ends_ns[stream] : own.file->busy_until_ns[device];
  end = std::max(end, now_ns()) + ns;
  own.stream_ends_ns[stream] = end;
  own.file->busy_ns[own.process][device] += ns;
}

}  // namespace fake_cuda

using namespace fake_cuda;  // NOLINT(google-build-using-namespace): C's functions

FAKE_CUDA CUresult cuLaunchKernel(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                  unsigned block_x, unsigned block_y, unsigned block_z,
                                  unsigned shared_bytes, CUstream stream, void** parameters,
                                  void** extra) {
  return launch_kernel(function,
                       {grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes,
                        as_number(stream), as_number(parameters), as_number(extra)},
                       false);
}
FAKE_CUDA CUresult cuLaunchKernel_ptsz(void* function, unsigned grid_x, unsigned grid_y,
                                       unsigned grid_z, unsigned block_x, unsigned block_y,
                                       unsigned block_z, unsigned shared_bytes, CUstream stream,
                                       void** parameters, void** extra) {
  return launch_kernel(function,
                       {grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes,
                        as_number(stream), as_number(parameters), as_number(extra)},
                       true);
}

FAKE_CUDA CUresult cuLaunchKernelEx(const LaunchConfig* config, void* function, void** parameters,
                                    void** extra) {
  if (config == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return cuLaunchKernel(function, config->grid[0], config->grid[1], config->grid[2],
                        config->block[0], config->block[1], config->block[2], config->shared_bytes,
                        config->stream, parameters, extra);
}
FAKE_CUDA CUresult cuLaunchKernelEx_ptsz(const LaunchConfig* config, void* function,
                                         void** parameters, void** extra) {
  if (config == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return cuLaunchKernel_ptsz(function, config->grid[0], config->grid[1], config->grid[2],
                             config->block[0], config->block[1], config->block[2],
                             config->shared_bytes, config->stream, parameters, extra);
}

FAKE_CUDA CUresult cuLaunchCooperativeKernel(void* function, unsigned grid_x, unsigned grid_y,
                                             unsigned grid_z, unsigned block_x, unsigned block_y,
                                             unsigned block_z, unsigned shared_bytes,
                                             CUstream stream, void** parameters) {
  return cuLaunchKernel(function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes,
                        stream, parameters, nullptr);
}
FAKE_CUDA CUresult cuLaunchCooperativeKernel_ptsz(void* function, unsigned grid_x, unsigned grid_y,
                                                  unsigned grid_z, unsigned block_x,
                                                  unsigned block_y, unsigned block_z,
                                                  unsigned shared_bytes, CUstream stream,
                                                  void** parameters) {
  return cuLaunchKernel_ptsz(function, grid_x, grid_y, grid_z, block_x, block_y, block_z,
                             shared_bytes, stream, parameters, nullptr);
}
/// Of one device.
FAKE_CUDA CUresult cuLaunchCooperativeKernelMultiDevice(CooperativeLaunch* launches, unsigned count,
                                                        unsigned flags) {
  if (launches == nullptr || count != 1 || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  const CooperativeLaunch& of = *launches;
  return cuLaunchKernel(of.function, of.grid[0], of.grid[1], of.grid[2], of.block[0], of.block[1],
                        of.block[2], of.shared_bytes, of.stream, of.parameters, nullptr);
}

FAKE_CUDA CUresult cuLaunchGridAsync(void* function, int width, int height, CUstream stream) {
  return launch_kernel(function,
                       {static_cast<unsigned>(width), static_cast<unsigned>(height), 1, 0, 0, 0, 0,
                        as_number(stream), 0, 0},
                       false);
}
FAKE_CUDA CUresult cuLaunchGrid(void* function, int width, int height) {
  return cuLaunchGridAsync(function, width, height, nullptr);
}
FAKE_CUDA CUresult cuLaunch(void* function) { return cuLaunchGrid(function, 1, 1); }
/// What a tool does that has the driver call it back. Not of CUDA's interface.
FAKE_CUDA void fake_cuda_call_in_launch(void (*tool)()) { machine().in_launch = tool; }

/// Of any text.
FAKE_CUDA CUresult cuModuleLoadData(void** module, const void*) {
  if (current_context() == nullptr) return kInvalidContext;
  *module = current_context();
  return CUDA_SUCCESS;
}
FAKE_CUDA CUresult cuModuleGetFunction(void** function, void*, const char*) {
  *function = &rounds_function;
  return CUDA_SUCCESS;
}

FAKE_CUDA CUresult cuEventCreate(CUevent* event, unsigned) {
  if (current_context() == nullptr) return kInvalidContext;
  *event = new Event;
  return CUDA_SUCCESS;
}
FAKE_CUDA CUresult cuEventDestroy_v2(CUevent event) {
  delete static_cast<Event*>(event);
  return CUDA_SUCCESS;
}

FAKE_CUDA CUresult cuEventRecord(CUevent event, CUstream stream) {
  return record(event, stream_of(stream, false));
}
FAKE_CUDA CUresult cuEventRecord_ptsz(CUevent event, CUstream stream) {
  return record(event, stream_of(stream, true));
}

FAKE_CUDA CUresult cuEventQuery(CUevent event) {
  CardFile& file = *machine().file;
  if (file.query_us != 0) std::this_thread::sleep_for(std::chrono::microseconds(file.query_us));
  if (static_cast<Event*>(event)->at_ns <= now_ns()) return CUDA_SUCCESS;
  constexpr std::uint64_t kQueryNs = 10'000;
  if (file.clock_ns != 0) file.clock_ns += kQueryNs;
  return kNotReady;
}
FAKE_CUDA CUresult cuEventSynchronize(CUevent event) {
  return wait_until(static_cast<Event*>(event)->at_ns);
}

FAKE_CUDA CUresult cuEventElapsedTime(float* milliseconds, CUevent from, CUevent to) {
  const std::uint64_t now = now_ns();
  if (static_cast<Event*>(from)->at_ns > now || static_cast<Event*>(to)->at_ns > now) {
    return kNotReady;
  }
  const auto begin = static_cast<double>(static_cast<Event*>(from)->at_ns);
  *milliseconds =
      static_cast<float>((static_cast<double>(static_cast<Event*>(to)->at_ns) - begin) / 1e6);
  return CUDA_SUCCESS;
}

FAKE_CUDA CUresult cuStreamSynchronize(CUstream stream) {
  return synchronize(stream_of(stream, false));
}
FAKE_CUDA CUresult cuStreamSynchronize_ptsz(CUstream stream) {
  return synchronize(stream_of(stream, true));
}
FAKE_CUDA CUresult cuCtxSynchronize() { return synchronize(nullptr); }
FAKE_CUDA CUresult cuCtxSynchronize_v2(CUcontext) { return synchronize(nullptr); }

FAKE_CUDA CUresult cuThreadExchangeStreamCaptureMode(int*) { return CUDA_SUCCESS; }
