#include "node/vendor/nvidia/nvml_source.hpp"
#include "tests/fuzz/fuzzing.hpp"

#include <fuzzer/FuzzedDataProvider.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>

// The driver's library is this program itself, which the dynamic linker finds under the name "". It
// answers what the input says: any error, texts without an end, numbers of things that are not.

namespace {

using namespace tangram;
using fuzz::require;
using node::nvidia::nvml::Code;
using node::nvidia::nvml::Device;

FuzzedDataProvider* driver = nullptr;

/// Success is the likeliest; a driver that has nothing more to say finds nothing.
Code answer() {
  constexpr std::array kCodes{Code::kSuccess,      Code::kSuccess,          Code::kSuccess,
                              Code::kSuccess,      Code::kNotFound,         Code::kNotSupported,
                              Code::kGpuIsLost,    Code::kInsufficientSize, Code::kTimeout,
                              Code::kUninitialized};
  return driver->remaining_bytes() == 0 ? Code::kNotFound : driver->PickValueInArray(kCodes);
}

/// Writes as many bytes of the input as it is told there is room for.
template <class Out>
Code fill(Out* out, std::size_t count = 1) {
  driver->ConsumeData(out, count * sizeof(Out));
  return answer();
}

Code fill_processes(unsigned* count, node::nvidia::nvml::ProcessInfo* out) {
  driver->ConsumeData(out, *count * sizeof(*out));
  return fill(count);
}

}  // namespace

// NOLINTBEGIN(readability-identifier-naming): the names are NVIDIA's
extern "C" {
Code nvmlInit_v2() { return driver->remaining_bytes() == 0 ? Code::kDriverNotLoaded : answer(); }
Code nvmlShutdown() { return Code::kSuccess; }
const char* nvmlErrorString(Code) { return driver->ConsumeBool() ? "an error" : nullptr; }
Code nvmlSystemGetDriverVersion(char* out, unsigned size) { return fill(out, size); }
Code nvmlSystemGetCudaDriverVersion_v2(int* out) { return fill(out); }
Code nvmlDeviceGetCount_v2(unsigned* out) { return fill(out); }
Code nvmlDeviceGetHandleByIndex_v2(unsigned, Device* out) { return fill(out); }
Code nvmlDeviceGetHandleByUUID(const char*, Device* out) { return fill(out); }
Code nvmlDeviceGetUUID(Device, char* out, unsigned size) { return fill(out, size); }
Code nvmlDeviceGetName(Device, char* out, unsigned size) { return fill(out, size); }
Code nvmlDeviceGetCudaComputeCapability(Device, int* major, int* minor) {
  fill(major);
  return fill(minor);
}
Code nvmlDeviceGetMemoryInfo(Device, node::nvidia::nvml::Memory* out) { return fill(out); }
Code nvmlDeviceGetMemoryInfo_v2(Device, node::nvidia::nvml::MemoryV2* out) { return fill(out); }
Code nvmlDeviceGetPciInfo_v3(Device, node::nvidia::nvml::PciInfo* out) { return fill(out); }
Code nvmlDeviceGetMemoryAffinity(Device, unsigned words, unsigned long* out, unsigned) {
  return fill(out, words);
}
Code nvmlDeviceGetTopologyCommonAncestor(Device, Device, unsigned* out) { return fill(out); }
Code nvmlDeviceGetNvLinkState(Device, unsigned, unsigned* out) { return fill(out); }
Code nvmlDeviceGetNvLinkRemotePciInfo_v2(Device, unsigned, node::nvidia::nvml::PciInfo* out) {
  return fill(out);
}
Code nvmlDeviceGetNvLinkRemoteDeviceType(Device, unsigned, unsigned* out) { return fill(out); }
Code nvmlDeviceGetMigMode(Device, unsigned* current, unsigned* pending) {
  fill(pending);
  return fill(current);
}
Code nvmlDeviceGetMaxMigDeviceCount(Device, unsigned* out) { return fill(out); }
Code nvmlDeviceGetMigDeviceHandleByIndex(Device, unsigned, Device* out) { return fill(out); }
Code nvmlDeviceGetGpuInstanceId(Device, unsigned* out) { return fill(out); }
Code nvmlDeviceGetComputeInstanceId(Device, unsigned* out) { return fill(out); }
Code nvmlDeviceGetAttributes_v2(Device, node::nvidia::nvml::DeviceAttributes* out) {
  return fill(out);
}
Code nvmlDeviceGetUtilizationRates(Device, node::nvidia::nvml::Utilization* out) {
  return fill(out);
}
Code nvmlDeviceGetComputeRunningProcesses_v3(Device, unsigned* count,
                                             node::nvidia::nvml::ProcessInfo* out) {
  return fill_processes(count, out);
}
Code nvmlDeviceGetMPSComputeRunningProcesses_v3(Device, unsigned* count,
                                                node::nvidia::nvml::ProcessInfo* out) {
  return fill_processes(count, out);
}
Code nvmlDeviceGetGraphicsRunningProcesses_v3(Device, unsigned* count,
                                              node::nvidia::nvml::ProcessInfo* out) {
  return fill_processes(count, out);
}
Code nvmlDeviceSetComputeMode(Device, int) { return answer(); }
Code nvmlDeviceGetSupportedEventTypes(Device, unsigned long long* out) { return fill(out); }
Code nvmlEventSetCreate(node::nvidia::nvml::EventSet* out) { return fill(out); }
Code nvmlDeviceRegisterEvents(Device, unsigned long long, node::nvidia::nvml::EventSet) {
  return answer();
}
Code nvmlEventSetWait_v2(node::nvidia::nvml::EventSet, node::nvidia::nvml::EventData* out,
                         unsigned) {
  return fill(out);
}
Code nvmlEventSetFree(node::nvidia::nvml::EventSet) { return Code::kSuccess; }
}
// NOLINTEND(readability-identifier-naming)

/// Any driver: every question ends with an answer or an error, and cards have memory of their own.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  spdlog::set_level(spdlog::level::off);
  FuzzedDataProvider input(data, size);
  driver = &input;
  node::nvidia::NvmlSource source("");
  std::string id = "GPU-a";
  if (const auto inventory = source.inventory()) {
    for (const node::InstalledCard& card : inventory->cards) {
      id = card.card.id;
      require(!id.empty() && id.size() <= node::nvidia::nvml::kTextSize);
      require(card.card.memory.count() > 0 && card.card.memory <= card.total);
    }
  }
  static_cast<void>(source.wait_for_faults(std::chrono::milliseconds(0)));
  if (const auto activity = source.activity(id)) {
    require(activity->utilization == -1 ||
            (activity->utilization >= 0 && activity->utilization <= 1));
  }
  static_cast<void>(source.set_exclusive_process(id, true));
  return 0;
}
