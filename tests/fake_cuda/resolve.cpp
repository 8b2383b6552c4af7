// Which function answers to a symbol: by versions.txt, which was asked of a real driver.
#include "tests/fake_cuda/machine.hpp"

#include <dlfcn.h>

#include <charconv>
#include <map>
#include <mutex>
#include <sstream>
#include <string>
#include <string_view>
#include <tuple>

// The text of versions.txt.
__asm__(
    ".section .rodata\n"
    "fake_cuda_versions: .incbin \"" FAKE_CUDA_VERSIONS
    "\"\n.byte 0\n"
    ".previous\n");
extern "C" __attribute__((visibility("hidden"))) const char fake_cuda_versions[];  // NOLINT

namespace fake_cuda {
namespace {

/// By symbol, stream and version.
using Versions = std::map<std::tuple<std::string, std::string, int>, std::string, std::less<>>;

Versions read_versions() {
  Versions versions;
  std::istringstream lines(fake_cuda_versions);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string symbol;
    std::string stream;
    std::string function;
    int since = 0;
    if (line.starts_with('#') || !(words >> symbol >> stream >> since >> function)) continue;
    versions[{symbol, stream, since}] = function;
  }
  return versions;
}

const Versions& versions() {
  static const auto* const all = new Versions(read_versions());
  return *all;
}

/// In any version.
bool is_known(const std::string& symbol) {
  const auto first = versions().lower_bound({symbol, "", 0});
  return first != versions().end() && std::get<0>(first->first) == symbol;
}

/// The newest version that is not newer than asked for. @returns empty if there is none
std::string function_of(const std::string& symbol, int version, std::uint64_t flags) {
  std::string best;
  int newest = 0;
  for (const std::string stream : {"any", flags == 2 ? "2" : "0"}) {
    auto found = versions().upper_bound({symbol, stream, version});
    if (found == versions().begin()) continue;
    --found;
    const auto& [of, with, since] = found->first;
    if (of != symbol || with != stream || since <= newest) continue;
    newest = since;
    best = found->second;
  }
  return best;
}

/// Of this library, whatever other library has the same names. As a real driver, which has a table,
/// it does not wait for the loader with a lock, nor the second time that it is asked.
void* own_function(const std::string& name) {
  static auto* const known = new std::map<std::string, void*>;
  {
    const std::lock_guard guard(machine().mutex);
    if (const auto found = known->find(name); found != known->end()) return found->second;
  }
  Dl_info info{};
  (void)dladdr(reinterpret_cast<const void*>(&machine), &info);
  void* const handle = dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD);
  void* const function = dlsym(handle, name.c_str());
  const std::lock_guard guard(machine().mutex);
  return (*known)[name] = function;
}

}  // namespace
}  // namespace fake_cuda

using namespace fake_cuda;  // NOLINT(google-build-using-namespace): C's functions

FAKE_CUDA CUresult cuGetProcAddress_v2(const char* symbol, void** function, int version,
                                       std::uint64_t flags, int* status) {
  if (symbol == nullptr || function == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const std::string name = function_of(symbol, version, flags);
  *function = name.empty() ? nullptr : own_function(name);
  constexpr int kNotFound = 1;
  constexpr int kVersionNotSufficient = 2;
  const int without = is_known(symbol) ? kVersionNotSufficient : kNotFound;
  if (status != nullptr) *status = *function != nullptr ? 0 : without;
  return CUDA_SUCCESS;
}

FAKE_CUDA CUresult cuGetProcAddress(const char* symbol, void** function, int version,
                                    std::uint64_t flags) {
  const CUresult result = cuGetProcAddress_v2(symbol, function, version, flags, nullptr);
  return result == CUDA_SUCCESS && *function == nullptr ? CUDA_ERROR_NOT_FOUND : result;
}
