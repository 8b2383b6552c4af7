// The lists of processes on a card.
//
// The driver's own rows are never shown. Its pids are those of the host with some versions and of
// the caller's PID namespace with others, so a pid that exists in the container proves nothing: the
// row could be another tenant's. The rows are made from the container's usage page: pid and
// accounted bytes of each live process. What has no account has no row: a context alone, or a card
// without a limit. All are listed as compute processes; the lists of graphics processes and of MPS
// clients are empty.
//
// The driver is asked first, without room for a row, and its errors are passed on.

#include "shim/forward.hpp"
#include "shim/nvml/calls.hpp"
#include "shim/nvml/container.hpp"

namespace tangram::shim::nvml {
namespace {

template <class Row>
using ListFunction = DriverFunction<int(Device, unsigned*, Row*)>;

struct Instance {
  std::uint32_t gpu = kNoInstance;
  std::uint32_t compute = kNoInstance;
};

constinit DriverFunction<int(Device, unsigned*)> get_gpu_instance{"nvmlDeviceGetGpuInstanceId"};
constinit DriverFunction<int(Device, unsigned*)> get_compute_instance{
    "nvmlDeviceGetComputeInstanceId"};
constinit DriverFunction<int(Device, ProcessDetailList*)> driver_details{
    "nvmlDeviceGetRunningProcessDetailList"};

constexpr std::uint32_t kDetailVersion = version_of<ProcessDetailList>(1);

/// None for a whole card, for which the driver refuses to say.
Instance instance_of(Device device) {
  Instance instance;
  if (get_gpu_instance(device, &instance.gpu) != kSuccess) return {};
  if (get_compute_instance(device, &instance.compute) != kSuccess) return {};
  return instance;
}

void fill(ProcessV1& row, std::uint32_t pid, std::uint64_t bytes, Instance) { row = {pid, bytes}; }
void fill(ProcessV2& row, std::uint32_t pid, std::uint64_t bytes, Instance instance) {
  row = {pid, bytes, instance.gpu, instance.compute};
}
void fill(ProcessDetail& row, std::uint32_t pid, std::uint64_t bytes, Instance instance) {
  row = {pid, bytes, instance.gpu, instance.compute, 0};
}

/// What the driver says to a call without room: of its processes, which are not shown, only that
/// the call is allowed.
bool is_allowed(int code) { return code == kSuccess || code == kInsufficientSize; }

/// @param count  the room for rows; becomes the number of rows there are
template <class Row>
int write_rows(const ContainerCard& card, Device device, unsigned& count, Row* rows) {
  if (count != 0 && rows == nullptr) return kInvalidArgument;
  const Instance instance = instance_of(device);
  unsigned found = 0;
  card.each_process([&](std::uint32_t pid, std::uint64_t bytes) {
    if (found < count) fill(rows[found], pid, bytes, instance);
    ++found;
  });
  const int code = found > count ? kInsufficientSize : kSuccess;
  count = found;
  return code;
}

template <class Row>
int list_none(ListFunction<Row>& driver, Device device, unsigned* count) {
  if (count == nullptr) return driver(device, nullptr, nullptr);
  unsigned no_room = 0;
  if (const int code = driver(device, &no_room, nullptr); !is_allowed(code)) return code;
  *count = 0;
  return kSuccess;
}

template <class Row>
int list(ListFunction<Row>& driver, Device device, unsigned* count, Row* rows) {
  if (count == nullptr) return driver(device, nullptr, rows);
  unsigned no_room = 0;
  if (const int code = driver(device, &no_room, nullptr); !is_allowed(code)) return code;
  const ContainerCard card(device);
  return card.code() == kSuccess ? write_rows(card, device, *count, rows) : card.code();
}

constinit ListFunction<ProcessV1> driver_compute{"nvmlDeviceGetComputeRunningProcesses"};
constinit ListFunction<ProcessV2> driver_compute_v2{"nvmlDeviceGetComputeRunningProcesses_v2"};
constinit ListFunction<ProcessV2> driver_compute_v3{"nvmlDeviceGetComputeRunningProcesses_v3"};
constinit ListFunction<ProcessV1> driver_graphics{"nvmlDeviceGetGraphicsRunningProcesses"};
constinit ListFunction<ProcessV2> driver_graphics_v2{"nvmlDeviceGetGraphicsRunningProcesses_v2"};
constinit ListFunction<ProcessV2> driver_graphics_v3{"nvmlDeviceGetGraphicsRunningProcesses_v3"};
constinit ListFunction<ProcessV1> driver_mps{"nvmlDeviceGetMPSComputeRunningProcesses"};
constinit ListFunction<ProcessV2> driver_mps_v2{"nvmlDeviceGetMPSComputeRunningProcesses_v2"};
constinit ListFunction<ProcessV2> driver_mps_v3{"nvmlDeviceGetMPSComputeRunningProcesses_v3"};

}  // namespace

// NOLINTBEGIN(readability-identifier-naming): the names are NVIDIA's

TANGRAM_NVML int nvmlDeviceGetComputeRunningProcesses(Device device, unsigned* count,
                                                      ProcessV1* rows) {
  return list(driver_compute, device, count, rows);
}

TANGRAM_NVML int nvmlDeviceGetComputeRunningProcesses_v2(Device device, unsigned* count,
                                                         ProcessV2* rows) {
  return list(driver_compute_v2, device, count, rows);
}

TANGRAM_NVML int nvmlDeviceGetComputeRunningProcesses_v3(Device device, unsigned* count,
                                                         ProcessV2* rows) {
  return list(driver_compute_v3, device, count, rows);
}

TANGRAM_NVML int nvmlDeviceGetGraphicsRunningProcesses(Device device, unsigned* count, ProcessV1*) {
  return list_none(driver_graphics, device, count);
}

TANGRAM_NVML int nvmlDeviceGetGraphicsRunningProcesses_v2(Device device, unsigned* count,
                                                          ProcessV2*) {
  return list_none(driver_graphics_v2, device, count);
}

TANGRAM_NVML int nvmlDeviceGetGraphicsRunningProcesses_v3(Device device, unsigned* count,
                                                          ProcessV2*) {
  return list_none(driver_graphics_v3, device, count);
}

TANGRAM_NVML int nvmlDeviceGetMPSComputeRunningProcesses(Device device, unsigned* count,
                                                         ProcessV1*) {
  return list_none(driver_mps, device, count);
}

TANGRAM_NVML int nvmlDeviceGetMPSComputeRunningProcesses_v2(Device device, unsigned* count,
                                                            ProcessV2*) {
  return list_none(driver_mps_v2, device, count);
}

TANGRAM_NVML int nvmlDeviceGetMPSComputeRunningProcesses_v3(Device device, unsigned* count,
                                                            ProcessV2*) {
  return list_none(driver_mps_v3, device, count);
}

TANGRAM_NVML int nvmlDeviceGetRunningProcessDetailList(Device device, ProcessDetailList* list) {
  if (list == nullptr) return driver_details(device, nullptr);
  // A version that is not known here could be of a longer structure: the driver refuses 0.
  const std::uint32_t version = list->version == kDetailVersion ? kDetailVersion : 0;
  ProcessDetailList no_room{version, list->mode, 0, nullptr};
  if (const int code = driver_details(device, &no_room); !is_allowed(code)) return code;
  if (list->mode != kComputeProcesses && list->mode != kAllProcesses) {
    list->count = 0;
    return kSuccess;
  }
  const ContainerCard card(device);
  if (card.code() != kSuccess) return card.code();
  return write_rows(card, device, list->count, list->processes);
}

// NOLINTEND(readability-identifier-naming)

}  // namespace tangram::shim::nvml
