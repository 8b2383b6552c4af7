#include "extender/page/page_queue.hpp"

#include <memory>
#include <utility>

namespace tangram::extender {
namespace {

http::Response too_many_pages() {
  return http::retry_response(
      std::chrono::seconds(1),
      "as many pages are being made as this service makes at a time; retry later");
}

}  // namespace

http::Handler PageQueue::in_turn(Page page) {
  return [this, page = std::move(page)](http::Request request, http::Responder responder) {
    // Shared, because the queue's tasks are copyable.
    const auto task = std::make_shared<std::pair<http::Request, http::Responder>>(
        std::move(request), std::move(responder));
    const bool taken = queue_.try_post([page, task] { task->second.send(page(task->first)); });
    if (!taken) task->second.send(too_many_pages());
  };
}

}  // namespace tangram::extender
