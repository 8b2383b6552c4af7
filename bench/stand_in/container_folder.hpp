#pragma once

#include "base/result.hpp"

#include <string>

namespace tangram::bench {

/// Paths in the folder: the driver's own library, and the stand-in before it.
inline constexpr const char* kBareDriver = "tangram/driver/libcuda.so.1";
inline constexpr const char* kStandInDriver = "lib/libcuda.so.1";

/// A temporary folder as a container has it, with a limit of 16,255 MiB on the null driver's card.
/// It is the current folder as long as it exists: the tests' stand-in has its root there.
class ContainerFolder {
 public:
  /// @returns kUnavailable with the system's reason
  static Result<ContainerFolder> create();
  ~ContainerFolder();
  ContainerFolder(ContainerFolder&& other) noexcept : path_(std::move(other.path_)) {
    other.path_.clear();
  }
  ContainerFolder& operator=(ContainerFolder&&) = delete;

 private:
  explicit ContainerFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;  ///< empty = moved from
};

}  // namespace tangram::bench
