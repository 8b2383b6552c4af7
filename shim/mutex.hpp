#pragma once

#include "shim/cancellation.hpp"

#include <pthread.h>

namespace tangram::shim {

/// std::mutex needs the C++ runtime library, to throw. Valid without construction; reset() is for a
/// child after fork().
class Mutex {
 public:
  void lock() { (void)pthread_mutex_lock(&mutex_); }
  void unlock() { (void)pthread_mutex_unlock(&mutex_); }
  void reset() { mutex_ = PTHREAD_MUTEX_INITIALIZER; }

 private:
  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
};

/// No thread is cancelled with a mutex: it would stay locked.
class Lock {
 public:
  explicit Lock(Mutex& mutex) : mutex_(mutex) { mutex_.lock(); }
  ~Lock() { mutex_.unlock(); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  Uncancelled uncancelled_;
  Mutex& mutex_;
};

}  // namespace tangram::shim
