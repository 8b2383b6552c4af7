#pragma once

#include "base/result.hpp"
#include "node/vendor/nvidia/nvml_api.hpp"

#include <memory>
#include <string>

namespace tangram::node::nvidia {

/// NVIDIA's management library, loaded. The destructor closes it: no call may be under way then.
class NvmlLibrary {
 public:
  /// The name with which every driver installs it, in the dynamic linker's path.
  static constexpr const char* kName = "libnvidia-ml.so.1";

  /// @returns kUnavailable      it cannot be loaded: no driver is installed, or not mounted here
  ///          kInvalidArgument  it lacks functions that every driver since 450 has; the message
  ///                            names them
  static Result<std::unique_ptr<NvmlLibrary>> open(const std::string& path = kName);

  ~NvmlLibrary();
  NvmlLibrary(const NvmlLibrary&) = delete;
  NvmlLibrary& operator=(const NvmlLibrary&) = delete;

  [[nodiscard]] const nvml::Functions& call() const { return functions_; }
  [[nodiscard]] std::string error_text(nvml::Code code) const;

 private:
  explicit NvmlLibrary(void* handle) : handle_(handle), functions_(handle) {}

  void* handle_;
  nvml::Functions functions_;
};

}  // namespace tangram::node::nvidia
