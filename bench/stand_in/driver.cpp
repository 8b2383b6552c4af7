#include "bench/stand_in/driver.hpp"

#include "base/file.hpp"

#include <dlfcn.h>

#include <sstream>

namespace tangram::bench {

namespace {

constexpr std::size_t kLookups = 481;

constexpr const char* kNothing = R"(
.version 6.0
.target sm_50
.address_size 64
.visible .entry nothing() { ret; }
)";

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
  CUresult (*version_of)(int*) = nullptr;
  set(version_of, found("cuDriverGetVersion", kVersion, 0));
  int newest = 0;
  (void)version_of(&newest);
  for (const Lookup& lookup : lookups) {
    const bool is_there = found(lookup.symbol.c_str(), lookup.version, lookup.flags) != nullptr;
    if (!is_there && lookup.version <= newest) {
      return fail(Errc::kUnavailable, std::string(path) + " has no " + lookup.symbol);
    }
  }
  if (const int result = init(0); result != shim::cuda::CUDA_SUCCESS) {
    return fail(Errc::kUnavailable, std::string(path) + ": cuInit " + std::to_string(result));
  }
  Driver driver;
  driver.library_ = library;
  set(driver.allocate_, found("cuMemAlloc", kVersion, 0));
  set(driver.free_, found("cuMemFree", kVersion, 0));
  set(driver.launch_, found("cuLaunchKernel", kVersion, 0));
  set(driver.exported_launch_, dlsym(library, "cuLaunchKernel"));
  return driver;
}

Result<void> Driver::open_card() {
  CUresult (*retain)(void**, int) = nullptr;
  CUresult (*load)(void**, const void*) = nullptr;
  CUresult (*function)(void**, void*, const char*) = nullptr;
  set(retain, dlsym(library_, "cuDevicePrimaryCtxRetain"));
  set(load, dlsym(library_, "cuModuleLoadData"));
  set(function, dlsym(library_, "cuModuleGetFunction"));
  set(set_context_, dlsym(library_, "cuCtxSetCurrent"));
  set(synchronize_, dlsym(library_, "cuCtxSynchronize"));
  void* module = nullptr;
  const auto check = [](const char* call, CUresult result) -> Result<void> {
    if (result == shim::cuda::CUDA_SUCCESS) return {};
    return fail(Errc::kUnavailable, std::string(call) + " " + std::to_string(result));
  };
  if (auto done = check("cuDevicePrimaryCtxRetain", retain(&context_, 0)); !done) return done;
  use_card();
  if (auto done = check("cuModuleLoadData", load(&module, kNothing)); !done) return done;
  return check("cuModuleGetFunction", function(&kernel_, module, "nothing"));
}

}  // namespace tangram::bench
