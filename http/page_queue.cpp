#include "http/page_queue.hpp"

#include <memory>
#include <utility>

namespace tangram::http {
namespace {

Response too_many_pages() {
  return retry_response(
      std::chrono::seconds(1),
      "as many pages are being made as this service makes at a time; retry later");
}

}  // namespace

Handler PageQueue::in_turn(Page page) {
  return [this, page = std::move(page)](Request request, Responder responder) {
    // Shared, because the queue's tasks are copyable.
    const auto task =
        std::make_shared<std::pair<Request, Responder>>(std::move(request), std::move(responder));
    const bool taken = queue_.try_post([page, task] { task->second.send(page(task->first)); });
    if (!taken) task->second.send(too_many_pages());
  };
}

}  // namespace tangram::http
