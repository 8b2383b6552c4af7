#pragma once

#include "shim/cuda/abi.hpp"

#include <functional>
#include <map>
#include <string>
#include <vector>

/// The calls of cuda_client, each by a name and with numbers.
namespace tangram::shim {

using Number = std::uint64_t;
using Numbers = std::vector<Number>;
using Lookup = cuda::CUresult (*)(const char*, void**, int, std::uint64_t, int*);

/// How functions of the driver are found.
struct Functions {
  Lookup lookup = nullptr;
  int version = 13050;  ///< of CUDA, whose version of a function is asked for
  Number flags = 0;     ///< 2: each thread has a null stream of its own
};
Functions& functions();

/// @returns null if there is none
inline void* find(const char* name) {
  const Functions& by = functions();
  void* function = nullptr;
  int status = -1;
  if (by.lookup == nullptr) return nullptr;
  const cuda::CUresult found = by.lookup(name, &function, by.version, by.flags, &status);
  return found == cuda::CUDA_SUCCESS ? function : nullptr;
}

template <class... Arguments>
cuda::CUresult call(const char* name, Arguments... arguments) {
  void* const function = find(name);
  if (function == nullptr) return cuda::CUDA_ERROR_NOT_FOUND;
  return reinterpret_cast<cuda::CUresult (*)(Arguments...)>(function)(arguments...);
}

/// What a command says: the CUresult, then what the call returned.
struct Answer {
  cuda::CUresult result = cuda::CUDA_SUCCESS;
  Numbers values;
};

using Commands = std::map<std::string, std::function<Answer(const Numbers&)>, std::less<>>;
/// Those that are one call, or a few that belong together.
const Commands& calls();
/// Those that launch kernels and graphs. A kernel of the fake driver takes as long as its handle
/// says.
const Commands& launches();
/// Those that compare how functions are found.
const Commands& lookups();

/// cuGetProcAddress_v2 of a loaded library.
Lookup lookup_of(void* library);

}  // namespace tangram::shim
