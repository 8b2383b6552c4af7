#include "kube/list_pages.hpp"

#include "kube/list_watch_codec.hpp"

#include <algorithm>
#include <utility>

namespace tangram::kube {

ListPages::ListPages(KubeApi& api, Request request, int page_size)
    : api_(api), request_(std::move(request)), page_size_(page_size), limit_(page_size) {}

Result<Response> ListPages::request_page() {
  for (;;) {
    request_.query["limit"] = std::to_string(limit_);
    auto response = api_.call(request_);
    if (response || response.error().code != Errc::kTooLarge || limit_ <= 1) return response;
    limit_ /= 2;
  }
}

void ListPages::adapt(std::size_t objects, std::size_t bytes) {
  const auto most = static_cast<std::size_t>(std::min(page_size_ - limit_, limit_) + limit_);
  const std::size_t fitting = kPageBytes * std::max<std::size_t>(objects, 1) / (bytes + 1);
  limit_ = static_cast<int>(std::clamp<std::size_t>(fitting, 1, most));
}

Result<Response> ListPages::next(const Item& item) {
  auto response = request_page();
  if (!response || response->status != 200) return response;
  const std::string body = std::exchange(response->body, {});
  std::size_t objects = 0;
  auto page = read_list(body, [&](std::string_view object) {
    ++objects;
    item(object);
  });
  if (!page) return page.error();
  version_ = std::move(page->version);
  ended_ = page->more.empty();
  if (ended_) return response;
  if (!tokens_.insert(page->more).second) {
    return fail(Errc::kInvalidArgument,
                "the server returns the same page again; check for a caching proxy in front of it");
  }
  request_.query["continue"] = std::move(page->more);
  adapt(objects, body.size());
  return response;
}

}  // namespace tangram::kube
