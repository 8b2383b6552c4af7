#include "tests/fake_cuda/card_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <new>

namespace fake_cuda {
namespace {

CardFile* map(int fd) {
  void* const mapped = mmap(nullptr, sizeof(CardFile), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  return mapped == MAP_FAILED ? nullptr : static_cast<CardFile*>(mapped);
}

/// Whether a process has this number: its lock is not to be had.
bool is_alive(int fd, std::size_t process) {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = static_cast<off_t>(process);
  lock.l_len = 1;
  return fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

}  // namespace

CardFile* create_card_file(const char* path) {
  const int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0 || ftruncate(fd, sizeof(CardFile)) != 0) return nullptr;
  CardFile* const file = map(fd);
  (void)close(fd);
  if (file == nullptr) return nullptr;
  new (file) CardFile{};
  pthread_mutexattr_t attributes;
  (void)pthread_mutexattr_init(&attributes);
  (void)pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  (void)pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
  (void)pthread_mutex_init(&file->mutex, &attributes);
  return file;
}

CardFile* open_card_file(const char* path, int* fd) {
  *fd = open(path, O_RDWR | O_CLOEXEC);
  return *fd < 0 ? nullptr : map(*fd);
}

CardLock::CardLock(CardFile& file) : file_(file) {
  if (pthread_mutex_lock(&file_.mutex) == EOWNERDEAD) {
    (void)pthread_mutex_consistent(&file_.mutex);  // what it wrote is one word at a time
  }
}

CardLock::~CardLock() { (void)pthread_mutex_unlock(&file_.mutex); }

std::uint64_t busy_of(CardFile& file, std::size_t card, int pid) {
  const CardLock lock(file);
  std::uint64_t sum = 0;
  for (std::size_t process = 0; process < kMaxProcesses; ++process) {
    if (file.pids[process] == pid) sum += file.busy_ns[process][card];
  }
  return sum;
}

std::uint64_t used_now(CardFile& file, int fd, std::size_t card, std::size_t own_process) {
  std::uint64_t sum = 0;
  for (std::size_t process = 0; process < kMaxProcesses; ++process) {
    std::uint64_t& used = file.used[process][card];
    if (used != 0 && process != own_process && !is_alive(fd, process)) used = 0;
    sum += used;
  }
  return sum;
}

}  // namespace fake_cuda
