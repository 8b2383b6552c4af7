#include "http/reply_box.hpp"

#include <utility>

namespace tangram::http {

void ReplyBox::put(Response response) {
  const std::scoped_lock lock(mutex_);
  if (closed_) return;
  response_ = std::move(response);
  if (const auto wake = std::exchange(wake_, nullptr)) wake();
}

std::optional<Response> ReplyBox::take_or_wake(std::function<void()> wake) {
  const std::scoped_lock lock(mutex_);
  if (!response_) wake_ = std::move(wake);
  return std::exchange(response_, std::nullopt);
}

void ReplyBox::close() {
  const std::scoped_lock lock(mutex_);
  closed_ = true;
  wake_ = nullptr;
  response_.reset();
}

}  // namespace tangram::http
