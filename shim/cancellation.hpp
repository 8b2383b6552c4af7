#pragma once

#include <pthread.h>

namespace tangram::shim {

/// While it lives, pthread_cancel() does not end the calling thread: nothing here is cleaned up if
/// that happens in the middle.
class Uncancelled {
 public:
  Uncancelled() { (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
  ~Uncancelled() { (void)pthread_setcancelstate(before_, nullptr); }
  Uncancelled(const Uncancelled&) = delete;
  Uncancelled& operator=(const Uncancelled&) = delete;

 private:
  int before_ = PTHREAD_CANCEL_ENABLE;
};

}  // namespace tangram::shim
