#include "extender/page/page_queue.hpp"

#include <memory>
#include <utility>

namespace tangram::extender {
namespace {

HttpResponse too_many_pages() {
  auto response = text_response(
      503, "as many pages are being made as this service makes at a time; retry later");
  response.headers.push_back({"Retry-After", "1"});
  return response;
}

}  // namespace

HttpHandler PageQueue::in_turn(Page page) {
  return [this, page = std::move(page)](HttpRequest request, Responder responder) {
    // Shared, because the queue's tasks are copyable.
    const auto task = std::make_shared<std::pair<HttpRequest, Responder>>(std::move(request),
                                                                          std::move(responder));
    const bool taken = queue_.try_post([page, task] { task->second.send(page(task->first)); });
    if (!taken) task->second.send(too_many_pages());
  };
}

}  // namespace tangram::extender
