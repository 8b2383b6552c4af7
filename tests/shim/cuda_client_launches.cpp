#include "tests/shim/cuda_client_calls.hpp"

#include <unistd.h>

#include <chrono>

namespace tangram::shim {
namespace {

using namespace cuda;  // NOLINT(google-build-using-namespace): C's types

/// Of the fake driver: its handle says how long a kernel takes.
CUresult launch_kernel(Number ns, CUstream stream = nullptr) {
  using Launch = CUresult (*)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                              unsigned, CUstream, void**, void**);
  static const auto launch = reinterpret_cast<Launch>(find("cuLaunchKernel"));
  return launch(reinterpret_cast<void*>(ns), 1, 1, 1, 1, 1, 1, 0, stream, nullptr, nullptr);
}

/// Kernels of a time, then waits for them all unless told otherwise.
Answer kernels(const Numbers& in) {
  for (Number i = 0; i < in.at(1); ++i) {
    if (const CUresult result = launch_kernel(in.at(0)); result != CUDA_SUCCESS)
      return {result, {}};
  }
  return {in.size() > 2 ? CUDA_SUCCESS : call("cuCtxSynchronize"), {}};
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
    (void)call("cuCtxSynchronize");
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

const Commands kLaunches{
    {"kernels", kernels},
    {"capture-kernels", capture_kernels},
    {"kernels-for-ever", kernels_for_ever},
    {"graphs-for-ever", graphs_for_ever},
    {"launch-cost", launch_cost},
};

}  // namespace

const Commands& launches() { return kLaunches; }

}  // namespace tangram::shim
