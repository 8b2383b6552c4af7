#include "tests/shim/cuda_client_calls.hpp"

#include <dlfcn.h>
#include <sched.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

namespace tangram::shim {
namespace {

using namespace cuda;  // NOLINT(google-build-using-namespace): C's types

/// Of the fake driver: its handle says how long a kernel takes.
CUresult launch_kernel(Number ns, CUstream stream = nullptr) {
  using Launch = CUresult (*)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                              unsigned, CUstream, void**, void**);
  static const auto kLaunch = reinterpret_cast<Launch>(find("cuLaunchKernel"));
  return kLaunch(reinterpret_cast<void*>(ns), 1, 1, 1, 1, 1, 1, 0, stream, nullptr, nullptr);
}

/// Of the current context, in each version of the function.
CUresult synchronize() { return call("cuCtxSynchronize", CUcontext{nullptr}); }

/// Kernels of a time, then waits for them all unless told otherwise.
Answer kernels(const Numbers& in) {
  for (Number i = 0; i < in.at(1); ++i) {
    if (const CUresult result = launch_kernel(in.at(0)); result != CUDA_SUCCESS)
      return {result, {}};
  }
  return {in.size() > 2 ? CUDA_SUCCESS : synchronize(), {}};
}

/// As a program has many.
CUstream stream_of(Number number) { return reinterpret_cast<CUstream>((number + 1) << 12U); }

Answer kernels_in_stream(const Numbers& in) {
  CUresult result = CUDA_SUCCESS;
  for (Number i = 0; i < in.at(2) && result == CUDA_SUCCESS; ++i) {
    result = launch_kernel(in.at(1), stream_of(in.at(0)));
  }
  return {result, {}};
}

/// The same in another thread, with this one's context; nobody waits for it.
Answer kernels_elsewhere(const Numbers& in) {
  CUcontext context = nullptr;
  (void)call("cuCtxGetCurrent", &context);
  std::thread([context, in] {
    (void)call("cuCtxSetCurrent", context);
    (void)kernels_in_stream(in);
  }).detach();
  return {};
}

/// In rounds: a kernel in each stream, a long one in the first.
Answer kernels_in_streams(const Numbers& in) {
  CUresult result = CUDA_SUCCESS;
  for (Number i = 0; i < in.at(2) * in.at(3) && result == CUDA_SUCCESS; ++i) {
    const Number stream = i % in.at(3);
    result = launch_kernel(stream == 0 ? in.at(0) : in.at(1), stream_of(stream));
  }
  return {result, {}};
}

/// The same in the default streams of threads, which take turns.
Answer kernels_in_threads(const Numbers& in) {
  CUcontext context = nullptr;
  (void)call("cuCtxGetCurrent", &context);
  const Number count = in.at(3);
  std::atomic<Number> next{0};
  std::vector<std::jthread> threads;
  for (Number thread = 0; thread < count; ++thread) {
    threads.emplace_back([&, thread] {
      (void)call("cuCtxSetCurrent", context);
      for (Number i = thread; i < in.at(2) * count; i += count) {
        while (next != i) (void)sched_yield();
        (void)call("cuLaunchKernel", reinterpret_cast<void*>(in.at(thread == 0 ? 0 : 1)), 1U, 1U,
                   1U, 1U, 1U, 1U, 0U, CUstream{nullptr}, static_cast<void**>(nullptr),
                   static_cast<void**>(nullptr));
        ++next;
      }
    });
  }
  return {};
}

/// A tool has the driver call it in the next launch, and launches something itself then.
Answer tool_launches(const Numbers&) {
  void* const driver = dlopen("tangram/driver/libcuda.so.1", RTLD_NOW);
  void* const request = dlsym(driver, "fake_cuda_call_in_launch");
  if (request == nullptr) return {CUDA_ERROR_NOT_FOUND, {}};
  reinterpret_cast<void (*)(void (*)())>(request)([] { (void)launch_kernel(1000); });
  return {};
}

Answer capture_kernels(const Numbers& in) {
  CUgraph made = nullptr;
  (void)call("cuStreamBeginCapture", CUstream{nullptr}, 0);
  CUresult result = CUDA_SUCCESS;
  for (Number i = 0; i < in.at(1) && result == CUDA_SUCCESS; ++i) result = launch_kernel(in.at(0));
  (void)call("cuStreamEndCapture", CUstream{nullptr}, &made);
  return {result, {reinterpret_cast<Number>(made)}};
}

/// Kernels of a time until a signal ends it; it pauses after some of them, if told so.
Answer kernels_for_ever(const Numbers& in) {
  const Number pause_us = in.size() > 2 ? in.at(2) : 0;
  for (Number i = 1;; ++i) {
    if (const CUresult result = launch_kernel(in.at(0)); result != CUDA_SUCCESS)
      return {result, {}};
    if (pause_us == 0 || i % in.at(1) != 0) continue;
    (void)synchronize();
    (void)usleep(static_cast<useconds_t>(pause_us));
  }
}

Answer graphs_for_ever(const Numbers& in) {
  using Launch = CUresult (*)(CUgraphExec, CUstream);
  const auto launch = reinterpret_cast<Launch>(find("cuGraphLaunch"));
  while (true) {
    const CUresult result = launch(reinterpret_cast<void*>(in.at(0)), nullptr);
    if (result != CUDA_SUCCESS) return {result, {}};
  }
}

/// The time of launches that do nothing, in ps for each.
Answer launch_cost(const Numbers& in) {
  constexpr Number kNothing = ~Number{0};
  (void)launch_kernel(kNothing);
  const auto begin = std::chrono::steady_clock::now();
  for (Number i = 0; i < in.at(0); ++i) (void)launch_kernel(kNothing);
  const auto ns = std::chrono::nanoseconds(std::chrono::steady_clock::now() - begin).count();
  return {CUDA_SUCCESS, {static_cast<Number>(ns) * 1000 / in.at(0)}};
}

// Each way to launch a kernel, by the version that is asked for, with arguments that all differ.
// The grid is (2, 3, 4), the block (5, 6, 7), then 8 shared bytes, the parameters at 9, and more
// of them at 10.

void* as_pointer(Number number) { return reinterpret_cast<void*>(number); }
void** parameters() { return static_cast<void**>(as_pointer(9)); }
void** extra() { return static_cast<void**>(as_pointer(10)); }

Answer by_kernel(const Numbers& in) {
  return {call("cuLaunchKernel", as_pointer(in.at(0)), 2U, 3U, 4U, 5U, 6U, 7U, 8U,
               CUstream{nullptr}, parameters(), extra()),
          {}};
}

Answer by_config(const Numbers& in) {
  const LaunchConfig config{{2, 3, 4}, {5, 6, 7}, 8, nullptr};
  return {call("cuLaunchKernelEx", &config, as_pointer(in.at(0)), parameters(), extra()), {}};
}

Answer cooperatively(const Numbers& in) {
  return {call("cuLaunchCooperativeKernel", as_pointer(in.at(0)), 2U, 3U, 4U, 5U, 6U, 7U, 8U,
               CUstream{nullptr}, parameters()),
          {}};
}

Answer on_all_devices(const Numbers& in) {
  CooperativeLaunch of{as_pointer(in.at(0)), {2, 3, 4}, {5, 6, 7}, 8, nullptr, parameters()};
  return {call("cuLaunchCooperativeKernelMultiDevice", &of, 1U, 0U), {}};
}

const Commands kLaunches{
    {"by-kernel", by_kernel},
    {"by-config", by_config},
    {"cooperatively", cooperatively},
    {"on-all-devices", on_all_devices},
    {"by-function",
     [](const Numbers& in) {
       return Answer{call("cuLaunch", as_pointer(in.at(0))), {}};
     }},
    {"by-grid",
     [](const Numbers& in) {
       return Answer{call("cuLaunchGrid", as_pointer(in.at(0)), 2, 3), {}};
     }},
    {"by-grid-async",
     [](const Numbers& in) {
       return Answer{call("cuLaunchGridAsync", as_pointer(in.at(0)), 2, 3, CUstream{nullptr}), {}};
     }},
    {"synchronize",
     [](const Numbers&) {
       return Answer{synchronize(), {}};
     }},
    {"synchronize-stream",
     [](const Numbers&) {
       return Answer{call("cuStreamSynchronize", CUstream{nullptr}), {}};
     }},
    {"kernels", kernels},
    {"kernels-in-stream", kernels_in_stream},
    {"kernels-elsewhere", kernels_elsewhere},
    {"kernels-in-streams", kernels_in_streams},
    {"kernels-in-threads", kernels_in_threads},
    {"destroy-stream",
     [](const Numbers& in) {
       return Answer{call("cuStreamDestroy", stream_of(in.at(0))), {}};
     }},
    {"tool-launches", tool_launches},
    {"capture-kernels", capture_kernels},
    {"kernels-for-ever", kernels_for_ever},
    {"graphs-for-ever", graphs_for_ever},
    {"launch-cost", launch_cost},
};

}  // namespace

const Commands& launches() { return kLaunches; }

}  // namespace tangram::shim
