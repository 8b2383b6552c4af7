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
  /// @returns kUnavailable with the loader's reason, or the call that failed, or a look-up that a
  ///          driver of its version must know
  static Result<Driver> start(const char* path, const std::vector<Lookup>& lookups);

  /// Opens the card, with a kernel that does nothing: for a driver that has one. Once, before
  /// use_card().
  /// @returns kUnavailable with the call that failed
  Result<void> open_card();
  /// For the calling thread; nothing without open_card().
  void use_card() const {
    if (context_ != nullptr) (void)set_context_(context_);
  }
  /// Waits for the card's work; nothing without open_card().
  void synchronize() const {
    if (context_ != nullptr) (void)synchronize_();
  }
  [[nodiscard]] bool has_card() const { return context_ != nullptr; }
  /// To be launched: null, which the null driver takes, without open_card().
  [[nodiscard]] void* kernel() const { return kernel_; }

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
  CUresult (*set_context_)(void*) = nullptr;
  CUresult (*synchronize_)() = nullptr;
  void* library_ = nullptr;
  void* context_ = nullptr;
  void* kernel_ = nullptr;
  Launch launch_ = nullptr;
  Launch exported_launch_ = nullptr;
};

}  // namespace tangram::bench
