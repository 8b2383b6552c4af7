/// Names this library to pthread_atfork(). The C runtime's start files would define it, but they
/// bring a constructor.
extern "C" {
// NOLINTNEXTLINE(readability-identifier-naming): the compiler's name
extern void* __dso_handle;  // NOLINT(bugprone-reserved-identifier): libc's name
__attribute__((visibility("hidden"))) void* __dso_handle = &__dso_handle;
}
