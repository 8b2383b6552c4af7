#pragma once

#include "shim/cancellation.hpp"
#include "shim/glibc.hpp"

#include <pthread.h>

#include <atomic>

namespace tangram::shim {

/// As Mutex, and a thread can see whether it has it already.
class OwnedMutex {
 public:
  void lock() {
    (void)pthread_mutex_lock(&mutex_);
    owner_.store(pthread_self(), std::memory_order_relaxed);
  }
  [[nodiscard]] bool try_lock() {
    if (pthread_mutex_trylock(&mutex_) != 0) return false;
    owner_.store(pthread_self(), std::memory_order_relaxed);
    return true;
  }
  void unlock() {
    owner_.store(0, std::memory_order_relaxed);
    (void)pthread_mutex_unlock(&mutex_);
  }
  [[nodiscard]] bool is_mine() const {
    return owner_.load(std::memory_order_relaxed) == pthread_self();
  }
  void reset() {
    owner_.store(0, std::memory_order_relaxed);
    mutex_ = PTHREAD_MUTEX_INITIALIZER;
  }

 private:
  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
  std::atomic<pthread_t> owner_{0};  ///< 0 = no thread
};

/// Locks, unless the thread has the mutex already.
class OwnedLock {
 public:
  explicit OwnedLock(OwnedMutex& mutex) : mutex_(mutex), locks_(!mutex.is_mine()) {
    if (locks_) mutex_.lock();
  }
  ~OwnedLock() {
    if (locks_) mutex_.unlock();
  }
  OwnedLock(const OwnedLock&) = delete;
  OwnedLock& operator=(const OwnedLock&) = delete;

 private:
  Uncancelled uncancelled_;
  OwnedMutex& mutex_;
  bool locks_;
};

}  // namespace tangram::shim
