#include "node/vendor/nvidia/nvml_library.hpp"

#include <dlfcn.h>

namespace tangram::node::nvidia {

Result<std::unique_ptr<NvmlLibrary>> NvmlLibrary::open(const std::string& path) {
  void* handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* reason = ::dlerror();  // NOLINT(concurrency-mt-unsafe): kept per thread by glibc
    return fail(Errc::kUnavailable,
                "the NVIDIA driver's library cannot be loaded; install the driver on this node, or "
                "mount its libraries where this program looks: " +
                    std::string(reason != nullptr ? reason : path));
  }
  std::unique_ptr<NvmlLibrary> library(new NvmlLibrary(handle));
  const std::string& missing = library->functions_.missing();
  if (!missing.empty()) {
    return fail(Errc::kInvalidArgument,
                path + " lacks " + missing + "; install NVIDIA's driver 450 or newer");
  }
  return library;
}

NvmlLibrary::~NvmlLibrary() { ::dlclose(handle_); }

std::string NvmlLibrary::error_text(nvml::Code code) const {
  const char* text = functions_.error_string(code);
  return text != nullptr ? text : "error " + std::to_string(static_cast<int>(code));
}

}  // namespace tangram::node::nvidia
