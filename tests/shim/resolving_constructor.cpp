// A library whose constructor asks for a function of the driver while another thread does so, too:
// the constructor has the loader's lock, for which that thread waits.
#include "tests/shim/threads.hpp"

#include <dlfcn.h>

#include <cstdint>
#include <thread>

namespace {

using Lookup = int (*)(const char*, void**, int, std::uint64_t, int*);

void look_up() {
  void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  const auto lookup = reinterpret_cast<Lookup>(dlsym(library, "cuGetProcAddress_v2"));
  void* function = nullptr;
  int status = 0;
  (void)lookup("cuMemAlloc", &function, 12000, 0, &status);
}

[[gnu::constructor]] void resolve() {
  void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  const auto lookup = reinterpret_cast<Lookup>(dlsym(library, "cuGetProcAddress_v2"));
  tangram::shim::Aside other([lookup] {
    void* function = nullptr;
    int status = 0;
    (void)lookup("cuMemAlloc", &function, 12000, 0, &status);
  });
  other.wait_until_it_waits();
  look_up();
  other.leave();  // it can go on only when the loader is free
}

}  // namespace
