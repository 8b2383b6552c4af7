#pragma once

#include "base/result.hpp"

#include <cstdint>
#include <mutex>
#include <set>
#include <string>

namespace tangram::node::nvidia {

/// Which CUDA driver library a process has loaded: the stand-in, or another one beside it. An image
/// can have one in LD_LIBRARY_PATH, as NVIDIA's compatibility package is, and a program can open
/// the driver's own by its path. Libraries by other names, and programs that need none, are not
/// seen. Threads: safe.
class DriverUse {
 public:
  /// @param folder  with the stand-ins of all versions: FOLDER/HASH/libcuda.so.1
  explicit DriverUse(std::string folder, std::string proc = "/proc")
      : folder_(std::move(folder)), proc_(std::move(proc)) {}

  /// @returns the path, in its container, of a library by which a process uses the driver without
  ///          the stand-in; empty = none;
  ///          kNotFound or kUnavailable as mapped_libraries(), or if the stand-ins cannot be read
  Result<std::string> without_stand_in(std::int64_t pid);

 private:
  Result<void> find_stand_ins();

  const std::string folder_;
  const std::string proc_;
  std::mutex mutex_;
  std::set<std::string> stand_ins_;  ///< identities; under mutex_
};

}  // namespace tangram::node::nvidia
