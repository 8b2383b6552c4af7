// The processes on cards: lists in every layout, and how busy each is.

#include "tests/fake_nvml/calls.hpp"

// NOLINTBEGIN(readability-identifier-naming): the names are NVIDIA's
namespace fake_nvml {

namespace {

enum class Kind { kCompute, kGraphics, kMps, kAll };

bool is_of(const Process& process, Kind kind) {
  if (kind == Kind::kAll) return true;
  if (process.mps) return kind == Kind::kMps;
  return kind == (process.graphics ? Kind::kGraphics : Kind::kCompute);
}

ProcessInfo info_of(const Process& process, const Device& from) {
  return {process.pid, process.bytes, from.gi, from.ci};
}

/// Those of a card and of its instances.
std::vector<ProcessInfo> processes_of(const Device& device, Kind kind) {
  std::vector<ProcessInfo> found;
  const auto add = [&](const Device& from) {
    for (const Process& process : from.processes) {
      if (is_of(process, kind)) found.push_back(info_of(process, from));
    }
  };
  add(device);
  for (const Device& instance : device.instances) add(instance);
  return found;
}

void fill(const ProcessInfo& from, ProcessInfo& out) { out = from; }
void fill(const ProcessInfo& from, ProcessInfoV1& out) { out = {from.pid, from.usedGpuMemory}; }
void fill(const ProcessInfo& from, ProcessDetail& out) {
  out = {from.pid, from.usedGpuMemory, from.gpuInstanceId, from.computeInstanceId, 0};
}
void fill(const ProcessInfo& from, UtilizationSample& out) { out = {from.pid, 1, 50, 0, 0, 0}; }
void fill(const ProcessInfo& from, UtilizationInfo& out) { out = {1, from.pid, 50, 0, 0, 0, 0, 0}; }

template <class Row>
Return list(const Device& device, Kind kind, unsigned* count, Row* out) {
  if (count == nullptr || (*count != 0 && out == nullptr)) return ERROR_INVALID_ARGUMENT;
  const std::vector<ProcessInfo> found = processes_of(device, kind);
  const unsigned room = *count;
  *count = World::the().script.boundless ? ~0U : static_cast<unsigned>(found.size());
  if (room < *count) return ERROR_INSUFFICIENT_SIZE;
  for (std::size_t row = 0; row < found.size(); ++row) fill(found[row], out[row]);
  return SUCCESS;
}

template <class Row>
int list_call(const char* function, void* handle, Kind kind, unsigned* count, Row* out) {
  return with_device(function, handle,
                     [&](World&, Device& device) { return list(device, kind, count, out); });
}

}  // namespace

EXPORT int nvmlDeviceGetComputeRunningProcesses(void* handle, unsigned* count, ProcessInfoV1* out) {
  return list_call("nvmlDeviceGetComputeRunningProcesses", handle, Kind::kCompute, count, out);
}

EXPORT int nvmlDeviceGetComputeRunningProcesses_v2(void* handle, unsigned* count,
                                                   ProcessInfo* out) {
  return list_call("nvmlDeviceGetComputeRunningProcesses_v2", handle, Kind::kCompute, count, out);
}

EXPORT int nvmlDeviceGetComputeRunningProcesses_v3(void* handle, unsigned* count,
                                                   ProcessInfo* out) {
  return list_call("nvmlDeviceGetComputeRunningProcesses_v3", handle, Kind::kCompute, count, out);
}

EXPORT int nvmlDeviceGetGraphicsRunningProcesses(void* handle, unsigned* count,
                                                 ProcessInfoV1* out) {
  return list_call("nvmlDeviceGetGraphicsRunningProcesses", handle, Kind::kGraphics, count, out);
}

EXPORT int nvmlDeviceGetGraphicsRunningProcesses_v2(void* handle, unsigned* count,
                                                    ProcessInfo* out) {
  return list_call("nvmlDeviceGetGraphicsRunningProcesses_v2", handle, Kind::kGraphics, count, out);
}

EXPORT int nvmlDeviceGetGraphicsRunningProcesses_v3(void* handle, unsigned* count,
                                                    ProcessInfo* out) {
  return list_call("nvmlDeviceGetGraphicsRunningProcesses_v3", handle, Kind::kGraphics, count, out);
}

EXPORT int nvmlDeviceGetMPSComputeRunningProcesses(void* handle, unsigned* count,
                                                   ProcessInfoV1* out) {
  return list_call("nvmlDeviceGetMPSComputeRunningProcesses", handle, Kind::kMps, count, out);
}

EXPORT int nvmlDeviceGetMPSComputeRunningProcesses_v2(void* handle, unsigned* count,
                                                      ProcessInfo* out) {
  return list_call("nvmlDeviceGetMPSComputeRunningProcesses_v2", handle, Kind::kMps, count, out);
}

EXPORT int nvmlDeviceGetMPSComputeRunningProcesses_v3(void* handle, unsigned* count,
                                                      ProcessInfo* out) {
  return list_call("nvmlDeviceGetMPSComputeRunningProcesses_v3", handle, Kind::kMps, count, out);
}

EXPORT int nvmlDeviceGetRunningProcessDetailList(void* handle, ProcessDetailList* out) {
  return with_device("nvmlDeviceGetRunningProcessDetailList", handle, [&](World&, Device& device) {
    if (out == nullptr || out->mode > 3) return ERROR_INVALID_ARGUMENT;
    if (out->version != PROCESS_DETAIL_LIST_V1) {
      return ERROR_ARGUMENT_VERSION_MISMATCH;
    }
    return list(device, static_cast<Kind>(out->mode), &out->numProcArrayEntries, out->procArray);
  });
}

EXPORT int nvmlDeviceGetProcessUtilization(void* handle, UtilizationSample* out, unsigned* count,
                                           unsigned long long) {
  return list_call("nvmlDeviceGetProcessUtilization", handle, Kind::kAll, count, out);
}

EXPORT int nvmlDeviceGetProcessesUtilizationInfo(void* handle, ProcessesUtilization* out) {
  return with_device("nvmlDeviceGetProcessesUtilizationInfo", handle, [&](World&, Device& device) {
    if (out == nullptr) return ERROR_INVALID_ARGUMENT;
    if (out->version != PROCESSES_UTILIZATION_V1) {
      return ERROR_ARGUMENT_VERSION_MISMATCH;
    }
    return list(device, Kind::kAll, &out->processSamplesCount, out->procUtilArray);
  });
}

}  // namespace fake_nvml
// NOLINTEND(readability-identifier-naming)
