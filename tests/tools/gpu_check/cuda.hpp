#pragma once

#include "base/result.hpp"

#include <array>
#include <cstddef>
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

  /// Work for the card, of always the same size, in the order of one stream.
  struct Unit {
    std::uint32_t rounds = 0;  ///< of a kernel with one block; about 25 ns each
    int kernels = 1;           ///< more: a graph of so many
  };
  /// Prepares it. Once.
  Result<void> prepare(const Unit& unit);
  /// Launches it a number of times, and waits until what the last call launched has ended: so the
  /// card always has work.
  Result<void> keep_busy(int times);
  /// Waits for all work.
  Result<void> finish();

  /// Runs a kernel that only computes to its end: always the same work, some ten milliseconds of a
  /// large card, in enough blocks for every multiprocessor of it.
  Result<void> compute();

 private:
  struct Functions;

  explicit Cuda(std::unique_ptr<Functions> functions);
  Result<void> check(int code, const char* what) const;
  Result<void> start();
  Result<void> launch_unit();
  Result<void> launch_small();

  std::unique_ptr<Functions> functions_;
  void* kernel_ = nullptr;
  Unit unit_;
  void* stream_ = nullptr;
  void* graph_ = nullptr;          ///< to be launched; null = single kernels
  std::array<void*, 2> events_{};  ///< after the last calls of keep_busy()
  std::size_t calls_ = 0;          ///< of keep_busy()
  std::uint64_t results_ = 0;      ///< device memory that the kernel writes to
};

}  // namespace tangram::gpu_check
