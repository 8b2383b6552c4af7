// Initialisation, devices, contexts and streams.
#include "tests/fake_cuda/machine.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <new>

namespace fake_cuda {
namespace {

bool lock_process(int fd, std::size_t process) {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = static_cast<off_t>(process);
  lock.l_len = 1;
  return fcntl(fd, F_OFD_SETLK, &lock) == 0;
}

std::size_t index_of(CUdevice device) { return static_cast<std::size_t>(device); }

CUresult open_machine() {
  Machine& own = machine();
  if (own.file != nullptr) return CUDA_SUCCESS;
  CardFile* const file = open_card_file(kCardFile, &own.fd);
  if (file == nullptr) return 100;  // CUDA_ERROR_NO_DEVICE
  const CardLock lock(*file);
  while (own.process < kMaxProcesses && !lock_process(own.fd, own.process)) ++own.process;
  if (own.process == kMaxProcesses) return 999;
  file->used[own.process] = {};
  file->busy_ns[own.process] = {};
  file->pids[own.process] = getpid();
  // The child is the parent to this driver, but it can go on.
  (void)pthread_atfork([] { machine().mutex.lock(); }, [] { machine().mutex.unlock(); },
                       [] { new (&machine().mutex) std::recursive_mutex; });
  own.file = file;
  for (std::size_t card = 0; card < file->count; ++card) {
    own.default_pool[card] = own.current_pool[card] = new Pool{.device = static_cast<int>(card)};
    own.pools.push_back(own.default_pool[card]);
  }
  return CUDA_SUCCESS;
}

}  // namespace

void hold_if_wanted(std::atomic<int>& hold) {
  int wanted = 1;
  if (!hold.compare_exchange_strong(wanted, 2)) return;
  while (hold.load() == 2) (void)usleep(1000);
}

bool is_device(CUdevice device) {
  const Machine& own = machine();
  return own.file != nullptr && device >= 0 && static_cast<std::uint32_t>(device) < own.file->count;
}

/// Never destroyed: threads may still use it when the process ends.
Machine& machine() {
  static auto* const own = new Machine;
  return *own;
}

std::vector<Context*>& context_stack() {
  thread_local std::vector<Context*> stack;
  return stack;
}

Context* current_context() {
  const auto& stack = context_stack();
  return stack.empty() ? nullptr : stack.back();
}

CUresult take(CUdevice device, std::uint64_t bytes) {
  Machine& own = machine();
  const CardLock lock(*own.file);
  if (const int failure = own.file->fail_next.exchange(0); failure != 0) return failure;
  Card& card = own.file->cards[index_of(device)];
  const std::uint64_t used = used_now(*own.file, own.fd, index_of(device), own.process);
  if (bytes > card.bytes - used) return CUDA_ERROR_OUT_OF_MEMORY;
  own.file->used[own.process][index_of(device)] += bytes;
  card.most_used = std::max(card.most_used, used + bytes);
  return CUDA_SUCCESS;
}

void give(CUdevice device, std::uint64_t bytes) {
  Machine& own = machine();
  const CardLock lock(*own.file);
  own.file->used[own.process][index_of(device)] -= bytes;
}

std::uint64_t new_address(std::uint64_t bytes) {
  Machine& own = machine();
  if (const auto found = own.free_addresses.find(bytes); found != own.free_addresses.end()) {
    const std::uint64_t address = found->second;
    own.free_addresses.erase(found);
    return address;
  }
  constexpr std::uint64_t kUnit = 2U << 20U;
  const std::uint64_t address = own.next_address;
  own.next_address += (bytes + kUnit) / kUnit * kUnit;
  return address;
}

void free_address(std::uint64_t address, std::uint64_t bytes) {
  machine().free_addresses[bytes] = address;
}

void end_context(Context* context) {
  Machine& own = machine();
  for (auto* blocks : {&own.pointers, &own.arrays}) {
    std::erase_if(*blocks, [&](const auto& entry) {
      if (entry.second.context != context) return false;
      give(entry.second.device, entry.second.bytes);
      if (blocks == &own.arrays) unmap_pieces(entry.first);
      return true;
    });
  }
  give(context->device, own.file->cards[index_of(context->device)].context_bytes);
  if (context->heap_bytes > (8U << 20U)) give(context->device, context->heap_bytes - (8U << 20U));
}

}  // namespace fake_cuda

using namespace fake_cuda;  // NOLINT(google-build-using-namespace): C's functions
using Guard = std::lock_guard<std::recursive_mutex>;

FAKE_CUDA CUresult cuInit(unsigned flags) {
  const Guard guard(machine().mutex);
  return flags != 0 ? CUDA_ERROR_INVALID_VALUE : open_machine();
}

FAKE_CUDA CUresult cuDriverGetVersion(int* version) {
  *version = 12040;
  return CUDA_SUCCESS;
}

FAKE_CUDA CUresult cuDeviceGetCount(int* count) {
  if (machine().file == nullptr) return kNotInitialized;
  *count = static_cast<int>(machine().file->count);
  return CUDA_SUCCESS;
}

FAKE_CUDA CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  if (!is_device(ordinal)) return kInvalidDevice;
  *device = ordinal;
  return CUDA_SUCCESS;
}

FAKE_CUDA CUresult cuDeviceGetName(char* name, int size, CUdevice device) {
  if (!is_device(device)) return kInvalidDevice;
  (void)snprintf(name, static_cast<std::size_t>(size), "Fake V100");
  return CUDA_SUCCESS;
}

FAKE_CUDA CUresult cuDeviceGetUuid(CUuuid* uuid, CUdevice device) {
  if (machine().file == nullptr) return kNotInitialized;
  if (!is_device(device)) return kInvalidDevice;
  std::memcpy(uuid, machine().file->cards[index_of(device)].uuid.data(), sizeof(*uuid));
  return CUDA_SUCCESS;
}
FAKE_CUDA CUresult cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice device) {
  return cuDeviceGetUuid(uuid, device);
}

FAKE_CUDA CUresult cuDeviceGetAttribute(int* value, int attribute, CUdevice device) {
  if (!is_device(device)) return kInvalidDevice;
  constexpr int kProcessors = 80;
  constexpr int kThreads = 2048;
  *value = attribute == kAttributeMultiprocessors            ? kProcessors
           : attribute == kAttributeThreadsPerMultiprocessor ? kThreads
                                                             : 0;
  return CUDA_SUCCESS;
}

FAKE_CUDA CUresult cuDeviceTotalMem_v2(std::size_t* bytes, CUdevice device) {
  if (!is_device(device)) return kInvalidDevice;
  *bytes = machine().file->cards[index_of(device)].bytes;
  return CUDA_SUCCESS;
}

FAKE_CUDA CUresult cuDeviceTotalMem(unsigned* bytes, CUdevice device) {
  std::size_t all = 0;
  const CUresult result = cuDeviceTotalMem_v2(&all, device);
  if (result == CUDA_SUCCESS) *bytes = static_cast<unsigned>(std::min<std::size_t>(all, ~0U));
  return result;
}

FAKE_CUDA CUresult cuCtxCreate_v2(CUcontext* context, unsigned, CUdevice device) {
  if (!is_device(device)) return kInvalidDevice;
  const Guard guard(machine().mutex);
  const auto taken = take(device, machine().file->cards[index_of(device)].context_bytes);
  if (taken != CUDA_SUCCESS) return taken;
  auto& ended = machine().ended_contexts;
  if (ended.empty()) ended.push_back(new Context);
  Context* const made = ended.back();
  ended.pop_back();
  *made = Context{.device = device};
  machine().contexts.push_back(made);
  context_stack().push_back(made);
  *context = made;
  return CUDA_SUCCESS;
}

FAKE_CUDA CUresult cuCtxCreate_v3(CUcontext* context, void*, int, unsigned flags, CUdevice device) {
  return cuCtxCreate_v2(context, flags, device);
}

FAKE_CUDA CUresult cuCtxDestroy_v2(CUcontext context) {
  {
    const Guard guard(machine().mutex);
    auto& contexts = machine().contexts;
    const auto found = std::find(contexts.begin(), contexts.end(), context);
    if (found == contexts.end()) return kInvalidContext;
    end_context(*found);
    machine().ended_contexts.push_back(*found);
    std::erase(context_stack(), *found);
    contexts.erase(found);
  }
  hold_if_wanted(machine().file->hold);
  return CUDA_SUCCESS;
}

FAKE_CUDA CUresult cuCtxGetApiVersion(CUcontext context, unsigned* version) {
  const Guard guard(machine().mutex);
  const auto& contexts = machine().contexts;
  if (std::find(contexts.begin(), contexts.end(), context) == contexts.end()) {
    return kInvalidContext;
  }
  *version = 3020;
  return CUDA_SUCCESS;
}

FAKE_CUDA CUresult cuCtxAttach(CUcontext* context, unsigned) {
  if (current_context() == nullptr) return kInvalidContext;
  ++current_context()->references;
  *context = current_context();
  return CUDA_SUCCESS;
}

FAKE_CUDA CUresult cuCtxDetach(CUcontext context) {
  auto* const attached = static_cast<Context*>(context);
  return --attached->references > 0 ? CUDA_SUCCESS : cuCtxDestroy_v2(context);
}

FAKE_CUDA CUresult cuCtxDestroy(CUcontext context) { return cuCtxDestroy_v2(context); }

FAKE_CUDA CUresult cuCtxPushCurrent_v2(CUcontext context) {
  if (context == nullptr) return kInvalidContext;
  context_stack().push_back(static_cast<Context*>(context));
  return CUDA_SUCCESS;
}

FAKE_CUDA CUresult cuCtxPopCurrent_v2(CUcontext* context) {
  if (context_stack().empty()) return kInvalidContext;
  *context = context_stack().back();
  context_stack().pop_back();
  return CUDA_SUCCESS;
}

FAKE_CUDA CUresult cuCtxSetCurrent(CUcontext context) {
  auto& stack = context_stack();
  if (!stack.empty()) stack.pop_back();
  if (context != nullptr) stack.push_back(static_cast<Context*>(context));
  return CUDA_SUCCESS;
}

FAKE_CUDA CUresult cuCtxGetCurrent(CUcontext* context) {
  if (machine().file == nullptr) return kNotInitialized;
  *context = current_context();
  return CUDA_SUCCESS;
}

FAKE_CUDA CUresult cuCtxGetDevice(CUdevice* device) {
  if (current_context() == nullptr) return kInvalidContext;
  *device = current_context()->device;
  return CUDA_SUCCESS;
}

FAKE_CUDA CUresult cuCtxGetLimit(std::size_t* value, int limit) {
  if (current_context() == nullptr) return kInvalidContext;
  *value = limit == kLimitMallocHeapSize ? current_context()->heap_bytes : 1024;
  return CUDA_SUCCESS;
}

FAKE_CUDA CUresult cuCtxSetLimit(int limit, std::size_t value) {
  Context* const context = current_context();
  if (context == nullptr) return kInvalidContext;
  if (limit != kLimitMallocHeapSize) return CUDA_SUCCESS;
  const Guard guard(machine().mutex);
  constexpr std::uint64_t kDefault = 8U << 20U;
  const std::uint64_t before = std::max(context->heap_bytes, kDefault) - kDefault;
  const std::uint64_t after = std::max<std::uint64_t>(value, kDefault) - kDefault;
  if (after > before) {
    if (const auto taken = take(context->device, after - before); taken != CUDA_SUCCESS) {
      return taken;
    }
  } else {
    give(context->device, before - after);
  }
  context->heap_bytes = value;
  return CUDA_SUCCESS;
}

FAKE_CUDA CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  if (!is_device(device)) return kInvalidDevice;
  const Guard guard(machine().mutex);
  Context*& primary = machine().primary[device];
  if (primary == nullptr) primary = new Context{.device = device, .primary = true};
  int& references = machine().primary_references[device];
  if (references == 0) {
    const auto taken = take(device, machine().file->cards[index_of(device)].context_bytes);
    if (taken != CUDA_SUCCESS) return taken;
  }
  ++references;
  *context = primary;
  return CUDA_SUCCESS;
}

FAKE_CUDA CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
  {
    const Guard guard(machine().mutex);
    if (!is_device(device) || machine().primary_references[device] == 0) return kInvalidContext;
    if (--machine().primary_references[device] == 0) end_context(machine().primary[device]);
  }
  hold_if_wanted(machine().file->hold);
  return CUDA_SUCCESS;
}
FAKE_CUDA CUresult cuDevicePrimaryCtxRelease(CUdevice device) {
  return cuDevicePrimaryCtxRelease_v2(device);
}

FAKE_CUDA CUresult cuDevicePrimaryCtxReset_v2(CUdevice device) {
  const Guard guard(machine().mutex);
  if (!is_device(device)) return kInvalidDevice;
  if (machine().primary_references[device] > 0) {
    end_context(machine().primary[device]);
    machine().primary_references[device] = 0;
  }
  return CUDA_SUCCESS;
}
FAKE_CUDA CUresult cuDevicePrimaryCtxReset(CUdevice device) {
  return cuDevicePrimaryCtxReset_v2(device);
}

FAKE_CUDA CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned* flags, int* active) {
  if (!is_device(device)) return kInvalidDevice;
  *flags = 0;
  *active = machine().primary_references[device] > 0 ? 1 : 0;
  return CUDA_SUCCESS;
}
