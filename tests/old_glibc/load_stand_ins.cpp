// Loads both stand-in libraries and uses them, in the process and in a child after fork(). Linked
// by scripts/check-old-glibc with an older libc: it needs neither a newer one nor the C++ runtime
// library.
//
//   load_stand_ins LIBCUDA LIBNVIDIA-ML

#include <dlfcn.h>
#include <gnu/libc-version.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>

namespace {

template <class... Parameters>
int call(void* library, const char* name, Parameters... parameters) {
  auto* const function = reinterpret_cast<int (*)(Parameters...)>(dlsym(library, name));
  if (function == nullptr) return -1;
  return function(parameters...);
}

void* load(const char* path) {
  void* const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* const why = dlerror();
    std::fprintf(stderr, "%s\n", why == nullptr ? path : why);
  }
  return library;
}

void use(const char* process, void* cuda, void* nvml) {
  std::printf("%s: cuInit %d", process, call(cuda, "cuInit", 0U));
  void* function = nullptr;
  int status = -1;
  const int found = call(cuda, "cuGetProcAddress_v2", "", &function, 0, std::uint64_t{0}, &status);
  std::printf(", cuGetProcAddress %d", found);
  constexpr std::size_t kMebibyte = 1U << 20U;
  for (int i = 0; i < 2; ++i) {
    std::uint64_t pointer = 0;
    std::printf(", cuMemAlloc %d", call(cuda, "cuMemAlloc_v2", &pointer, 60 * kMebibyte));
  }
  std::printf(", nvmlInit %d\n", call(nvml, "nvmlInit_v2"));
  (void)std::fflush(stdout);
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 3) return 2;
  void* const cuda = load(arguments[1]);
  void* const nvml = load(arguments[2]);
  if (cuda == nullptr || nvml == nullptr) return 1;
  std::printf("glibc %s\n", gnu_get_libc_version());
  use("parent", cuda, nvml);
  const pid_t child = fork();
  if (child == 0) {
    use("child", cuda, nvml);
    _exit(0);
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child) return 1;
  return status;
}
