#pragma once

#include "http/types.hpp"

#include <functional>
#include <mutex>
#include <optional>
#include <utility>

namespace tangram::http {

/// Carries one response from the thread that has it to the session that waits.
///
/// The Responder may outlive session and server, so the box knows nothing of
/// them but `wake`, and close() makes it forget that. Threads: any.
class ReplyBox {
 public:
  /// Keeps the response and wakes the session; drops it after close().
  void put(Response response) {
    const std::scoped_lock lock(mutex_);
    if (closed_) return;
    response_ = std::move(response);
    if (const auto wake = std::exchange(wake_, nullptr)) wake();
  }

  /// The response if it is there. If not, put() will call `wake`, once, with the
  /// box locked: it must only post.
  std::optional<Response> take_or_wake(std::function<void()> wake) {
    const std::scoped_lock lock(mutex_);
    if (!response_) wake_ = std::move(wake);
    return std::exchange(response_, std::nullopt);
  }

  /// From here on put() does nothing. When this returns, no `wake` is running.
  void close() {
    const std::scoped_lock lock(mutex_);
    closed_ = true;
    wake_ = nullptr;
    response_.reset();
  }

  /// Closes a box at the end of a scope.
  class Closing {
   public:
    explicit Closing(ReplyBox& box) : box_(box) {}
    ~Closing() { box_.close(); }
    Closing(const Closing&) = delete;
    Closing& operator=(const Closing&) = delete;

   private:
    ReplyBox& box_;
  };

 private:
  std::mutex mutex_;
  std::optional<Response> response_;
  std::function<void()> wake_;
  bool closed_ = false;
};

}  // namespace tangram::http
