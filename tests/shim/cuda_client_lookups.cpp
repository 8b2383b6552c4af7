// Lookups of functions, beside the driver's own answers.
#include "tests/shim/cuda_client_calls.hpp"

#include <dlfcn.h>

#include <fstream>
#include <set>
#include <sstream>
#include <string>

namespace tangram::shim {
namespace {

using namespace cuda;  // NOLINT(google-build-using-namespace): C's types

/// Of all functions that a driver can be asked for.
std::set<std::string> names() {
  std::ifstream versions(TANGRAM_CUDA_VERSIONS);
  std::set<std::string> all{"", "cuNoSuchFunction"};
  for (std::string line, name; std::getline(versions, line);) {
    if (!line.starts_with('#') && std::istringstream(line) >> name) all.insert(name);
  }
  return all;
}

/// Every name of the driver in many versions, with each kind of stream, by both functions.
/// @returns how many lookups, how many answers differ from the driver's in more than the address,
///          and how many functions are others than the driver's
Answer compare_lookups(const Numbers&) {
  void* const library = dlopen("libcuda.so.1", RTLD_NOW);
  void* const driver = dlopen("tangram/driver/libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  using First = CUresult (*)(const char*, void**, int, std::uint64_t);
  const auto first = reinterpret_cast<First>(dlsym(library, "cuGetProcAddress"));
  Number lookups = 0;
  Number wrong = 0;
  Number ours = 0;
  const auto compare = [&](const char* name, int version, Number flags) {
    void* expected = nullptr;
    void* second = nullptr;
    void* other = nullptr;
    int expected_status = -1;
    int status = -1;
    const CUresult of_driver = lookup_of(driver)(name, &expected, version, flags, &expected_status);
    const CUresult result = lookup_of(library)(name, &second, version, flags, &status);
    const CUresult of_first = first(name, &other, version, flags);
    Dl_info where{};
    const bool is_ours = second != expected;
    const bool is_known = second == nullptr || dladdr(second, &where) != 0;
    const bool has_first = (of_first == CUDA_SUCCESS && expected != nullptr) == (other != nullptr);
    const bool is_right = result == of_driver && status == expected_status && is_known &&
                          (second == nullptr) == (expected == nullptr) && second == other &&
                          has_first;
    lookups += 2;
    if (!is_right) ++wrong;
    if (is_ours) ++ours;
  };
  for (const std::string& name : names()) {
    for (const int version : {2000, 3020, 4000, 7000, 10000, 11050, 12000, 13050}) {
      for (const Number flags : {0U, 1U, 2U}) compare(name.c_str(), version, flags);
    }
  }
  return {CUDA_SUCCESS, {lookups, wrong, ours}};
}

Answer lookups_of_nothing(const Numbers&) {
  void* const library = dlopen("libcuda.so.1", RTLD_NOW);
  using First = CUresult (*)(const char*, void**, int, std::uint64_t);
  const auto first = reinterpret_cast<First>(dlsym(library, "cuGetProcAddress"));
  const Lookup second = lookup_of(library);
  void* function = nullptr;
  Numbers results;
  for (const CUresult result :
       {second("cuMemAlloc", nullptr, 12000, 0, nullptr),
        second(nullptr, &function, 12000, 0, nullptr), first("cuMemAlloc", nullptr, 12000, 0),
        first(nullptr, &function, 12000, 0), first("cuNoSuchFunction", &function, 12000, 0),
        second("cuMemAlloc", &function, 12000, 0, nullptr)}) {
    results.push_back(static_cast<Number>(result));
  }
  return {CUDA_SUCCESS, results};
}

/// Functions that the stand-in passes on, and this driver does not support.
Answer forwarded_by_name(const Numbers&) {
  void* const library = dlopen("libcuda.so.1", RTLD_NOW);
  Numbers results;
  for (const char* const name :
       {"cuDeviceCanAccessPeer", "cuDeviceGetP2PAttribute", "cuCtxEnablePeerAccess",
        "cuGetExportTable", "cuIpcOpenMemHandle"}) {
    using Function = CUresult (*)(void*, void*, void*, void*);
    const auto function = reinterpret_cast<Function>(dlsym(library, name));
    results.push_back(static_cast<Number>(function(nullptr, nullptr, nullptr, nullptr)));
  }
  return {CUDA_SUCCESS, results};
}

const Commands kLookups{
    {"compare-lookups", compare_lookups},
    {"lookups-of-nothing", lookups_of_nothing},
    {"forwarded-by-name", forwarded_by_name},
};

}  // namespace

Lookup lookup_of(void* library) {
  return reinterpret_cast<Lookup>(dlsym(library, "cuGetProcAddress_v2"));
}

const Commands& lookups() { return kLookups; }

}  // namespace tangram::shim
