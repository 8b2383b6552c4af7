#include "node/vendor/nvidia/nvml_library.hpp"

#include <dlfcn.h>

namespace tangram::node::nvidia {

namespace {

/// Loads one function after the other, and keeps the names of missing ones.
class Loader {
 public:
  explicit Loader(void* library) : library_(library) {}

  template <class Function>
  void required(Function*& out, const char* name) {
    optional(out, name);
    if (out == nullptr) missing_ += (missing_.empty() ? "" : ", ") + std::string(name);
  }

  template <class Function>
  void optional(Function*& out, const char* name) {
    out = reinterpret_cast<Function*>(::dlsym(library_, name));
  }

  [[nodiscard]] const std::string& missing() const { return missing_; }

 private:
  void* library_;
  std::string missing_;
};

void load_basics(Loader& load, nvml::Functions& to) {
  load.required(to.init, "nvmlInit_v2");
  load.required(to.shutdown, "nvmlShutdown");
  load.required(to.error_string, "nvmlErrorString");
  load.required(to.driver_version, "nvmlSystemGetDriverVersion");
  load.required(to.device_count, "nvmlDeviceGetCount_v2");
  load.required(to.device_by_index, "nvmlDeviceGetHandleByIndex_v2");
  load.required(to.device_by_uuid, "nvmlDeviceGetHandleByUUID");
  load.required(to.uuid, "nvmlDeviceGetUUID");
  load.required(to.name, "nvmlDeviceGetName");
  load.required(to.memory, "nvmlDeviceGetMemoryInfo");
  load.required(to.pci_info, "nvmlDeviceGetPciInfo_v3");
}

void load_descriptions(Loader& load, nvml::Functions& to) {
  load.optional(to.cuda_version, "nvmlSystemGetCudaDriverVersion_v2");
  load.optional(to.compute_capability, "nvmlDeviceGetCudaComputeCapability");
  load.optional(to.memory_v2, "nvmlDeviceGetMemoryInfo_v2");
  load.optional(to.memory_affinity, "nvmlDeviceGetMemoryAffinity");
  load.optional(to.common_ancestor, "nvmlDeviceGetTopologyCommonAncestor");
  load.optional(to.nvlink_state, "nvmlDeviceGetNvLinkState");
  load.optional(to.nvlink_remote_pci, "nvmlDeviceGetNvLinkRemotePciInfo_v2");
  load.optional(to.nvlink_remote_type, "nvmlDeviceGetNvLinkRemoteDeviceType");
  load.optional(to.mig_mode, "nvmlDeviceGetMigMode");
  load.optional(to.max_mig_devices, "nvmlDeviceGetMaxMigDeviceCount");
  load.optional(to.mig_device_by_index, "nvmlDeviceGetMigDeviceHandleByIndex");
  load.optional(to.gpu_instance, "nvmlDeviceGetGpuInstanceId");
  load.optional(to.compute_instance, "nvmlDeviceGetComputeInstanceId");
  load.optional(to.attributes, "nvmlDeviceGetAttributes_v2");
}

void load_activity(Loader& load, nvml::Functions& to) {
  load.optional(to.utilization, "nvmlDeviceGetUtilizationRates");
  load.optional(to.compute_processes, "nvmlDeviceGetComputeRunningProcesses_v3");
  load.optional(to.mps_processes, "nvmlDeviceGetMPSComputeRunningProcesses_v3");
  load.optional(to.set_compute_mode, "nvmlDeviceSetComputeMode");
  load.optional(to.supported_events, "nvmlDeviceGetSupportedEventTypes");
  load.optional(to.event_set_create, "nvmlEventSetCreate");
  load.optional(to.register_events, "nvmlDeviceRegisterEvents");
  load.optional(to.event_set_wait, "nvmlEventSetWait_v2");
  load.optional(to.event_set_free, "nvmlEventSetFree");
}

}  // namespace

Result<std::unique_ptr<NvmlLibrary>> NvmlLibrary::open(const std::string& path) {
  void* handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* reason = ::dlerror();  // NOLINT(concurrency-mt-unsafe): kept per thread by glibc
    return fail(Errc::kUnavailable,
                "the NVIDIA driver's library cannot be loaded; install the driver on this node, or "
                "mount its libraries into the agent: " +
                    std::string(reason != nullptr ? reason : path));
  }
  std::unique_ptr<NvmlLibrary> library(new NvmlLibrary(handle));
  Loader load(handle);
  load_basics(load, library->functions_);
  load_descriptions(load, library->functions_);
  load_activity(load, library->functions_);
  if (!load.missing().empty()) {
    return fail(Errc::kInvalidArgument,
                path + " lacks " + load.missing() + "; install NVIDIA's driver 450 or newer");
  }
  return library;
}

NvmlLibrary::~NvmlLibrary() { ::dlclose(handle_); }

std::string NvmlLibrary::error_text(nvml::Code code) const {
  const char* text = functions_.error_string(code);
  return text != nullptr ? text : "error " + std::to_string(static_cast<int>(code));
}

}  // namespace tangram::node::nvidia
