#pragma once

#include "base/result.hpp"

#include <cstdint>
#include <memory>
#include <string>

namespace tangram::gpu_check {

/// The first card that CUDA shows this process, with a context on it: the driver's library loaded
/// at run time, so that no toolkit is needed to build. Threads: the one that opened it.
class Cuda {
 public:
  /// @returns kUnavailable with CUDA's name of the error
  static Result<std::unique_ptr<Cuda>> open();
  ~Cuda();
  Cuda(const Cuda&) = delete;
  Cuda& operator=(const Cuda&) = delete;

  struct Memory {
    std::uint64_t free = 0;
    std::uint64_t total = 0;
  };
  Result<Memory> memory();

  /// Takes device memory until the end of this object.
  Result<void> allocate(std::uint64_t bytes);

  /// Runs a kernel that only computes to its end: always the same work, some ten milliseconds of a
  /// large card, in enough blocks for every multiprocessor of it.
  Result<void> compute();

 private:
  struct Functions;

  explicit Cuda(std::unique_ptr<Functions> functions);
  Result<void> check(int code, const char* what) const;
  Result<void> start();

  std::unique_ptr<Functions> functions_;
  void* kernel_ = nullptr;
  std::uint64_t results_ = 0;  ///< device memory that the kernel writes to
};

}  // namespace tangram::gpu_check
