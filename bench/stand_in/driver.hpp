#pragma once

#include "base/result.hpp"
#include "shim/cuda/abi.hpp"

#include <string>
#include <vector>

namespace tangram::bench {

/// What a CUDA runtime asks for: a symbol in the version that it was built with.
struct Lookup {
  std::string symbol;
  int version;
  std::uint64_t flags;
};
/// As many as CUDA runtime 13.5 makes, of tests/fake_cuda/versions.txt.
[[nodiscard]] Result<std::vector<Lookup>> runtime_lookups();

/// A loaded libcuda.so.1, used as the CUDA runtime uses it: through pointers that it has returned.
class Driver {
 public:
  using CUresult = shim::cuda::CUresult;
  using CUdeviceptr = shim::cuda::CUdeviceptr;
  using Launch = CUresult (*)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                              unsigned, void*, void**, void**);

  /// Loads it, initialises it, and makes these look-ups.
  /// @returns kUnavailable with the loader's reason, or the call that failed
  static Result<Driver> start(const char* path, const std::vector<Lookup>& lookups);

  CUresult allocate(CUdeviceptr* pointer, std::size_t bytes) const {
    return allocate_(pointer, bytes);
  }
  CUresult free(CUdeviceptr pointer) const { return free_(pointer); }
  /// cuLaunchKernel() as a look-up returns it.
  [[nodiscard]] Launch launch() const { return launch_; }
  /// cuLaunchKernel() as the library exports it.
  [[nodiscard]] Launch exported_launch() const { return exported_launch_; }

 private:
  Driver() = default;

  CUresult (*allocate_)(CUdeviceptr*, std::size_t) = nullptr;
  CUresult (*free_)(CUdeviceptr) = nullptr;
  Launch launch_ = nullptr;
  Launch exported_launch_ = nullptr;
};

}  // namespace tangram::bench
