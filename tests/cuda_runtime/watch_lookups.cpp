// Watches which functions of libcuda.so.1 a program asks for, and which it gets. An auditor of the
// dynamic loader (rtld-audit(7)): it stands at the binding of cuGetProcAddress_v2() in the program
// or the CUDA runtime, so that the libraries on both sides of it are the real ones at their places.
//
//   LD_AUDIT=watch_lookups.so TANGRAM_LOOKUPS=FILE [TANGRAM_DRIVER_VERSION=13050] COMMAND...
//
// Appends lines to the file. Of each binding that is watched:
//
//   bound FUNCTION LIBRARY
//
// Of each look-up, with "-" for an empty symbol, -1 for a status that was not asked for, and the
// function that was returned by its name in its library, or null:
//
//   SYMBOL VERSION FLAGS RESULT STATUS FUNCTION [LIBRARY]
//
// A runtime does not ask an older driver for what that cannot have. With TANGRAM_DRIVER_VERSION,
// cuDriverGetVersion() answers this version to the runtime, which then asks for everything.

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

using Lookup = int (*)(const char*, void**, int, std::uint64_t);
using LookupWithStatus = int (*)(const char*, void**, int, std::uint64_t, int*);
using Version = int (*)(int*);

constinit Lookup real_lookup = nullptr;
constinit LookupWithStatus real_lookup_with_status = nullptr;
constinit Version real_version = nullptr;
constinit int raised = 0;  ///< instead of the real one

int watched_lookup(const char* symbol, void** function, int version, std::uint64_t flags);
int watched_lookup_with_status(const char* symbol, void** function, int version,
                               std::uint64_t flags, int* status);

int lookups_file() {
  static int file = [] {
    const char* const path = std::getenv("TANGRAM_LOOKUPS");
    return path == nullptr ? -1 : open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  }();
  return file;
}

int raised_version(int* version) {
  const int result = real_version(version);
  if (result == 0) *version = raised;
  return result;
}

/// The pointer by which all further look-ups are made is itself looked up: it must stay watched.
void keep_watching(void** function, const char* name) {
  if (std::strcmp(name, "cuGetProcAddress_v2") == 0) {
    real_lookup_with_status = reinterpret_cast<LookupWithStatus>(*function);
    *function = reinterpret_cast<void*>(watched_lookup_with_status);
  } else if (std::strcmp(name, "cuGetProcAddress") == 0) {
    real_lookup = reinterpret_cast<Lookup>(*function);
    *function = reinterpret_cast<void*>(watched_lookup);
  } else if (const char* const version = std::getenv("TANGRAM_DRIVER_VERSION");
             version != nullptr && std::strcmp(name, "cuDriverGetVersion") == 0) {
    raised = static_cast<int>(std::strtol(version, nullptr, 10));
    real_version = reinterpret_cast<Version>(*function);
    *function = reinterpret_cast<void*>(raised_version);
  }
}

/// @param status  -1 = the call has none
void note(const char* symbol, int version, std::uint64_t flags, int result, int status,
          void** function) {
  const char* name = "null";
  const char* library = "";
  Dl_info info{};
  if (function != nullptr && *function != nullptr) {
    const bool is_exact = dladdr(*function, &info) != 0 && info.dli_saddr == *function;
    name = is_exact ? info.dli_sname : "unnamed";
    library = info.dli_fname == nullptr ? "unknown" : info.dli_fname;
  }
  const bool has_symbol = symbol != nullptr && *symbol != '\0';
  (void)dprintf(lookups_file(), "%s %d %llu %d %d %s %s\n", has_symbol ? symbol : "-", version,
                static_cast<unsigned long long>(flags), result, status, name, library);
  if (*library != '\0') keep_watching(function, name);
}

int watched_lookup(const char* symbol, void** function, int version, std::uint64_t flags) {
  const int result = real_lookup(symbol, function, version, flags);
  note(symbol, version, flags, result, -1, function);
  return result;
}

int watched_lookup_with_status(const char* symbol, void** function, int version,
                               std::uint64_t flags, int* status) {
  const int result = real_lookup_with_status(symbol, function, version, flags, status);
  note(symbol, version, flags, result, status == nullptr ? -1 : *status, function);
  return result;
}

}  // namespace

#define TANGRAM_AUDIT extern "C" __attribute__((visibility("default")))

TANGRAM_AUDIT unsigned la_version(unsigned /*loader*/) { return LAV_CURRENT; }

/// Marks libcuda.so.1 by its entry in the loader; 0 = another library.
TANGRAM_AUDIT unsigned la_objopen(link_map* object, Lmid_t /*space*/, std::uintptr_t* mark) {
  const char* const slash = std::strrchr(object->l_name, '/');
  const char* const file = slash == nullptr ? object->l_name : slash + 1;
  const bool is_driver = std::strncmp(file, "libcuda.so", std::strlen("libcuda.so")) == 0;
  *mark = is_driver ? reinterpret_cast<std::uintptr_t>(object) : 0;
  return LA_FLG_BINDTO | LA_FLG_BINDFROM;
}

/// What the stand-in asks of the driver is not the program's look-up.
TANGRAM_AUDIT std::uintptr_t la_symbind64(Elf64_Sym* symbol, unsigned /*index*/,
                                          std::uintptr_t* from, std::uintptr_t* to,
                                          unsigned* /*flags*/, const char* name) {
  if (*from != 0 || *to == 0) return symbol->st_value;
  // NOLINTBEGIN(performance-no-int-to-ptr): the auditor's interface has no pointers
  auto* function = reinterpret_cast<void*>(symbol->st_value);
  const auto* const library = reinterpret_cast<const link_map*>(*to);
  // NOLINTEND(performance-no-int-to-ptr)
  keep_watching(&function, name);
  (void)dprintf(lookups_file(), "bound %s %s\n", name, library->l_name);
  return reinterpret_cast<std::uintptr_t>(function);
}
