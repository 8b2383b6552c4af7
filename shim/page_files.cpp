#include "shim/page_files.hpp"

#include "shim/accounts.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>

namespace tangram::shim {
namespace {

/// @returns null if the file is shorter
void* map_file(int fd, std::size_t size, int protection) {
  if (lseek(fd, 0, SEEK_END) < static_cast<off_t>(size)) return nullptr;
  void* const mapped = mmap(nullptr, size, protection, MAP_SHARED, fd, 0);
  return mapped == MAP_FAILED ? nullptr : mapped;
}

struct flock lock_of(std::size_t slot, short type) {
  struct flock lock {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = static_cast<off_t>(slot);
  lock.l_len = 1;
  return lock;
}

bool set_lock(int fd, std::size_t slot, short type) {
  struct flock lock = lock_of(slot, type);
  return fcntl(fd, F_OFD_SETLK, &lock) == 0;
}

template <class Page>
Page* if_valid(void* mapped, std::uint64_t magic) {
  auto* const page = static_cast<Page*>(mapped);
  if (page == nullptr || (page->magic == magic && page->version == kPageVersion)) return page;
  (void)munmap(mapped, sizeof(Page));
  return nullptr;
}

LimitsPage* open_limits(const char* path, int access, int protection) {
  const int fd = open(path, access | O_CLOEXEC);
  if (fd < 0) return nullptr;
  void* const mapped = map_file(fd, sizeof(LimitsPage), protection);
  (void)close(fd);
  auto* const page = if_valid<LimitsPage>(mapped, kLimitsMagic);
  if (page == nullptr || page->card_count <= kMaxCards) return page;
  unmap_limits(page);
  return nullptr;
}

UsageFile open_usage_file(const char* path, int access, int protection) {
  UsageFile file;
  file.fd = open(path, access | O_CLOEXEC);
  if (file.fd < 0) return {};
  void* const mapped = map_file(file.fd, sizeof(UsagePage), protection);
  file.page = if_valid<UsagePage>(mapped, kUsageMagic);
  if (file.page == nullptr) close_usage(file);
  return file;
}

}  // namespace

const LimitsPage* map_limits(const char* path) { return open_limits(path, O_RDONLY, PROT_READ); }

LimitsPage* map_limits_to_write(const char* path) {
  return open_limits(path, O_RDWR, PROT_READ | PROT_WRITE);
}

void unmap_limits(const LimitsPage* page) {
  (void)munmap(const_cast<LimitsPage*>(page), sizeof(LimitsPage));
}

UsageFile open_usage(const char* path) {
  return open_usage_file(path, O_RDWR, PROT_READ | PROT_WRITE);
}

UsageFile open_usage_read_only(const char* path) {
  return open_usage_file(path, O_RDONLY, PROT_READ);
}

void close_usage(UsageFile& file) {
  if (file.page != nullptr) (void)munmap(file.page, sizeof(UsagePage));
  if (file.fd >= 0) (void)close(file.fd);
  file = {};
}

bool lock_slot(const UsageFile& file, std::size_t slot) { return set_lock(file.fd, slot, F_WRLCK); }

void unlock_slot(const UsageFile& file, std::size_t slot) {
  (void)set_lock(file.fd, slot, F_UNLCK);
}

int take_memory(const UsageFile& file, std::size_t slot) {
  const auto begin = offsetof(UsagePage, slots) + slot * sizeof(Slot);
  return posix_fallocate(file.fd, static_cast<off_t>(begin), sizeof(Slot));
}

bool is_locked(const UsageFile& file, std::size_t slot) {
  struct flock lock = lock_of(slot, F_WRLCK);
  return fcntl(file.fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

std::size_t recover_dead(const UsageFile& file) {
  std::size_t recovered = 0;
  for (std::size_t slot = 0; slot < kMaxProcesses; ++slot) {
    auto& taken = file.page->taken[slot];
    if (taken.load(std::memory_order_acquire) == 0 || !lock_slot(file, slot)) continue;
    SlotAccounts(*file.page, slot).recover();
    taken.store(0, std::memory_order_release);
    unlock_slot(file, slot);
    ++recovered;
  }
  return recovered;
}

}  // namespace tangram::shim
