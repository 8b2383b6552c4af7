#include "tests/testing/allocations.hpp"

#include <malloc.h>

#include <algorithm>
#include <cstdlib>
#include <new>

namespace tangram::testing {

namespace {

// Signed: a thread may free what another one took.
thread_local std::ptrdiff_t in_use = 0;
thread_local std::ptrdiff_t most = 0;

void* take(std::size_t size) noexcept {
  void* const memory = std::malloc(size == 0 ? 1 : size);
  if (memory == nullptr) return nullptr;
  in_use += static_cast<std::ptrdiff_t>(malloc_usable_size(memory));
  most = std::max(most, in_use);
  return memory;
}

void give_back(void* memory) noexcept {
  if (memory == nullptr) return;
  in_use -= static_cast<std::ptrdiff_t>(malloc_usable_size(memory));
  std::free(memory);
}

}  // namespace

PeakAllocation::PeakAllocation() : before_(in_use) { most = in_use; }

std::size_t PeakAllocation::bytes() const { return static_cast<std::size_t>(most - before_); }

}  // namespace tangram::testing

void* operator new(std::size_t size) {
  void* const memory = tangram::testing::take(size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void* operator new(std::size_t size, const std::nothrow_t& /*tag*/) noexcept {
  return tangram::testing::take(size);
}
void operator delete(void* memory) noexcept { tangram::testing::give_back(memory); }
void operator delete(void* memory, std::size_t /*size*/) noexcept {
  tangram::testing::give_back(memory);
}
