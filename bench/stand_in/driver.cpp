#include "bench/stand_in/driver.hpp"

#include "base/file.hpp"

#include <dlfcn.h>

#include <sstream>

namespace tangram::bench {

namespace {

constexpr std::size_t kLookups = 481;

using GetProcAddress = int (*)(const char*, void**, int, std::uint64_t, int*);

template <class Function>
void set(Function& function, void* address) {
  function = reinterpret_cast<Function>(address);
}

}  // namespace

Result<std::vector<Lookup>> runtime_lookups() {
  const auto text = read_file(TANGRAM_VERSIONS);
  if (!text) return text.error();
  std::vector<Lookup> lookups;
  std::istringstream lines(*text);
  for (std::string line; lookups.size() < kLookups && std::getline(lines, line);) {
    if (line.starts_with('#')) continue;
    std::istringstream words(line);
    Lookup lookup{};
    std::string stream;
    words >> lookup.symbol >> stream >> lookup.version;
    lookup.flags = stream == "2" ? 2 : 0;
    lookups.push_back(lookup);
  }
  return lookups;
}

Result<Driver> Driver::start(const char* path, const std::vector<Lookup>& lookups) {
  void* const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  // NOLINTNEXTLINE(concurrency-mt-unsafe): glibc's is of the thread
  if (library == nullptr) return fail(Errc::kUnavailable, dlerror());
  GetProcAddress find = nullptr;
  CUresult (*init)(unsigned) = nullptr;
  set(find, dlsym(library, "cuGetProcAddress_v2"));
  const auto found = [&](const char* symbol, int version, std::uint64_t flags) {
    void* function = nullptr;
    int status = 0;
    (void)find(symbol, &function, version, flags, &status);
    return function;
  };
  constexpr int kVersion = 12'000;
  set(find, found("cuGetProcAddress", kVersion, 0));
  set(init, found("cuInit", kVersion, 0));
  for (const Lookup& lookup : lookups) {
    if (found(lookup.symbol.c_str(), lookup.version, lookup.flags) == nullptr) {
      return fail(Errc::kUnavailable, std::string(path) + " has no " + lookup.symbol);
    }
  }
  if (const int result = init(0); result != shim::cuda::CUDA_SUCCESS) {
    return fail(Errc::kUnavailable, std::string(path) + ": cuInit " + std::to_string(result));
  }
  Driver driver;
  set(driver.allocate_, found("cuMemAlloc", kVersion, 0));
  set(driver.free_, found("cuMemFree", kVersion, 0));
  set(driver.launch_, found("cuLaunchKernel", kVersion, 0));
  set(driver.exported_launch_, dlsym(library, "cuLaunchKernel"));
  return driver;
}

}  // namespace tangram::bench
