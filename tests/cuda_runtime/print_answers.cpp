// Prints what the CUDA runtime answers: linked by scripts/check-cuda-runtime with the real one,
// shared and static, whose functions are declared here as far as they are called.

#include <cstddef>
#include <cstdio>
#include <type_traits>

// NOLINTBEGIN(readability-identifier-naming): the names are NVIDIA's
extern "C" {
int cudaDriverGetVersion(int* version);
int cudaRuntimeGetVersion(int* version);
int cudaGetDeviceCount(int* count);
int cudaGetDevice(int* device);
int cudaSetDevice(int device);
int cudaDeviceGetAttribute(int* value, int attribute, int device);
int cudaMemGetInfo(std::size_t* free, std::size_t* total);
int cudaMalloc(void** pointer, std::size_t bytes);
int cudaMallocManaged(void** pointer, std::size_t bytes, unsigned flags);
int cudaMallocAsync(void** pointer, std::size_t bytes, void* stream);
int cudaFree(void* pointer);
int cudaStreamCreate(void** stream);
int cudaDeviceSynchronize();
int cudaGetDriverEntryPointByVersion(const char* symbol, void** function, unsigned version,
                                     unsigned long long flags, int* status);
int cudaPeekAtLastError();
int cudaGetLastError();
const char* cudaGetErrorName(int error);
const char* cudaGetErrorString(int error);
}
// NOLINTEND(readability-identifier-naming)

namespace {

void print(const char* call, int error) {
  std::printf("%s: %d %s (%s)", call, error, cudaGetErrorName(error), cudaGetErrorString(error));
}

void print_result(const char* call, int error) {
  print(call, error);
  std::printf("\n");
}

/// What a call writes to its first argument, too.
template <class Value, class... Parameters, class... Arguments>
Value print_value(const char* call, int (*function)(Value*, Parameters...),
                  Arguments... arguments) {
  Value value{};
  print(call, function(&value, arguments...));
  if constexpr (std::is_pointer_v<Value>) {
    std::printf(", %s\n", value == nullptr ? "null" : "not null");
  } else {
    std::printf(", %lld\n", static_cast<long long>(value));
  }
  return value;
}

void print_device() {
  print_value("cudaDriverGetVersion", cudaDriverGetVersion);
  print_value("cudaRuntimeGetVersion", cudaRuntimeGetVersion);
  print_value("cudaGetDeviceCount", cudaGetDeviceCount);
  print_value("cudaGetDevice", cudaGetDevice);
  print_result("cudaSetDevice", cudaSetDevice(0));
  constexpr int kMultiprocessors = 16;
  print_value("cudaDeviceGetAttribute", cudaDeviceGetAttribute, kMultiprocessors, 0);
}

void print_memory() {
  constexpr std::size_t kBytes = 1U << 20U;
  constexpr unsigned kGlobal = 1;
  std::size_t total = 0;
  print_value("cudaMemGetInfo", cudaMemGetInfo, &total);
  std::printf("total: %zu\n", total);
  void* const pointer = print_value("cudaMalloc", cudaMalloc, kBytes);
  print_value("cudaMallocManaged", cudaMallocManaged, kBytes, kGlobal);
  void* const stream = print_value("cudaStreamCreate", cudaStreamCreate);
  print_value("cudaMallocAsync", cudaMallocAsync, kBytes, stream);
  print_result("cudaFree", cudaFree(pointer));
  print_result("cudaDeviceSynchronize", cudaDeviceSynchronize());
}

void print_entry_point() {
  constexpr unsigned kVersion = 12000;
  void* function = nullptr;
  int status = -1;
  print("cudaGetDriverEntryPointByVersion",
        cudaGetDriverEntryPointByVersion("cuMemAlloc", &function, kVersion, 0, &status));
  std::printf(", %s, status %d\n", function == nullptr ? "null" : "not null", status);
}

}  // namespace

int main() {
  print_device();
  print_memory();
  print_entry_point();
  print_result("cudaPeekAtLastError", cudaPeekAtLastError());
  print_result("cudaGetLastError", cudaGetLastError());
  print_result("cudaGetLastError", cudaGetLastError());
  return 0;
}
