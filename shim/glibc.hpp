#pragma once

/// Binds what is called in libc to versions of before glibc 2.17, which the oldest images with a
/// CUDA runtime have. Since 2.34 a build would bind them to that version, and would not load
/// into any older image. Include it in every file that calls them.
#if defined(__x86_64__)
__asm__(".symver dlopen, dlopen@GLIBC_2.2.5");
__asm__(".symver dlerror, dlerror@GLIBC_2.2.5");
__asm__(".symver dlsym, dlsym@GLIBC_2.2.5");
__asm__(".symver pthread_mutex_trylock, pthread_mutex_trylock@GLIBC_2.2.5");
#elif defined(__aarch64__)
// The first glibc for this architecture.
__asm__(".symver dlopen, dlopen@GLIBC_2.17");
__asm__(".symver dlerror, dlerror@GLIBC_2.17");
__asm__(".symver dlsym, dlsym@GLIBC_2.17");
__asm__(".symver pthread_mutex_trylock, pthread_mutex_trylock@GLIBC_2.17");
#else
#error "the oldest versions of these symbols are known for x86-64 and aarch64 only"
#endif
