// What nvidia-smi calls beside the functions that the agent calls: with these, NVIDIA's own program
// of versions 535 and 550 runs over the fake. What else it asks for is shown as "not found".

#include "tests/fake_nvml/calls.hpp"

#include <array>

// NOLINTBEGIN(readability-identifier-naming): the names are NVIDIA's
namespace fake_nvml {

EXPORT int nvmlInit_v2();
EXPORT int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** out);

namespace {

/// Calls `fill(value)` with what a pointer argument points to, for a device that is there.
template <class Value, class Fill>
int answer(const char* function, void* handle, Value* out, const Fill& fill) {
  return with_device(function, handle, [&](World&, Device&) {
    fill(*out);
    return SUCCESS;
  });
}

template <class Number>
int answer_number(const char* function, void* handle, Number* out, Number number) {
  return answer(function, handle, out, [&](Number& value) { value = number; });
}

int not_supported(const char* function, void* handle) {
  return with_device(function, handle, [](World&, Device&) { return ERROR_NOT_SUPPORTED; });
}

// The private table of functions. Word 0 is its size in bytes. nvidia-smi gets handles from word 81
// and the rows of processes from 213 to 215; the other functions that it calls only need to
// succeed.
constexpr std::size_t kWords = 512;
constexpr std::size_t kHandleByIndex = 81;
constexpr std::size_t kFirstProcesses = 213;
constexpr std::size_t kLastProcesses = 215;

using Table = std::array<std::uintptr_t, kWords>;

template <class Function>
std::uintptr_t address_of(Function* function) {
  return reinterpret_cast<std::uintptr_t>(function);
}

int succeed() { return SUCCESS; }

int no_rows(void*, unsigned* count, void*) {
  *count = 0;
  return SUCCESS;
}

Table make_table() {
  Table table{};
  table.fill(address_of(succeed));
  table[0] = sizeof table;
  table[kHandleByIndex] = address_of(nvmlDeviceGetHandleByIndex_v2);
  for (std::size_t word = kFirstProcesses; word <= kLastProcesses; ++word) {
    table[word] = address_of(no_rows);
  }
  return table;
}

}  // namespace

EXPORT int nvmlInitWithFlags(unsigned) { return nvmlInit_v2(); }

/// The real library has several tables; nvidia-smi asks for one only.
EXPORT int nvmlInternalGetExportTable(const void** out, const void*) {
  static const Table table = make_table();
  *out = table.data();
  return SUCCESS;
}

EXPORT int nvmlDeviceGetIndex(void* handle, unsigned* out) {
  return with_device("nvmlDeviceGetIndex", handle, [&](World& world, Device& device) {
    for (unsigned index = 0; index < world.script.cards.size(); ++index) {
      if (world.script.cards[index].uuid != device.uuid) continue;
      *out = index;
      return SUCCESS;
    }
    return ERROR_NOT_SUPPORTED;
  });
}

EXPORT int nvmlDeviceIsMigDeviceHandle(void* handle, unsigned* out) {
  return with_device("nvmlDeviceIsMigDeviceHandle", handle, [&](World&, Device& device) {
    *out = device.gi != NO_INSTANCE ? 1 : 0;
    return SUCCESS;
  });
}

EXPORT int nvmlDeviceGetBAR1MemoryInfo(void* handle, Bar1Memory* out) {
  constexpr std::uint64_t kWindow = 256ULL << 20U;
  return answer("nvmlDeviceGetBAR1MemoryInfo", handle, out, [&](Bar1Memory& memory) {
    memory = {kWindow, kWindow, 0};
  });
}

EXPORT int nvmlDeviceGetConfComputeProtectedMemoryUsage(void* handle, Memory* out) {
  return answer("nvmlDeviceGetConfComputeProtectedMemoryUsage", handle, out, [](Memory& memory) {
    memory = {0, 0, 0};
  });
}

EXPORT int nvmlDeviceGetDisplayActive(void* handle, int* out) {
  return answer_number("nvmlDeviceGetDisplayActive", handle, out, 0);
}

EXPORT int nvmlDeviceGetEccMode(void* handle, int* current, int* pending) {
  return answer("nvmlDeviceGetEccMode", handle, current, [&](int& value) { value = *pending = 1; });
}

EXPORT int nvmlDeviceGetTotalEccErrors(void* handle, int, int, unsigned long long* out) {
  return answer_number("nvmlDeviceGetTotalEccErrors", handle, out, 0ULL);
}

EXPORT int nvmlDeviceValidateInforom(void* handle) {
  return with_device("nvmlDeviceValidateInforom", handle, [](World&, Device&) { return SUCCESS; });
}

EXPORT int nvmlDeviceGetEnforcedPowerLimit(void* handle, unsigned* out) {
  return answer_number("nvmlDeviceGetEnforcedPowerLimit", handle, out, 300'000U);
}

EXPORT int nvmlDeviceGetPowerUsage(void* handle, unsigned* out) {
  return answer_number("nvmlDeviceGetPowerUsage", handle, out, 55'000U);
}

/// As on the cards of servers, which have none.
EXPORT int nvmlDeviceGetFanSpeed(void* handle, unsigned*) {
  return not_supported("nvmlDeviceGetFanSpeed", handle);
}

EXPORT int nvmlDeviceGetPerformanceState(void* handle, int* out) {
  return answer_number("nvmlDeviceGetPerformanceState", handle, out, 0);
}

EXPORT int nvmlDeviceGetPersistenceMode(void* handle, int* out) {
  return answer_number("nvmlDeviceGetPersistenceMode", handle, out, 1);
}

EXPORT int nvmlDeviceGetTemperature(void* handle, int, unsigned* out) {
  return answer_number("nvmlDeviceGetTemperature", handle, out, 36U);
}

EXPORT int nvmlDeviceGetVirtualizationMode(void* handle, int* out) {
  return answer_number("nvmlDeviceGetVirtualizationMode", handle, out, 0);
}

}  // namespace fake_nvml
// NOLINTEND(readability-identifier-naming)
