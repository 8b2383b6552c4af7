#pragma once

#include "kube/api.hpp"

#include <functional>
#include <set>
#include <string>
#include <string_view>

namespace tangram::kube {

/// Requests a list page by page, of pages that stay small whatever the size of its objects.
///
/// A page that is longer than the client takes is requested again, of half as many objects, down to
/// one. After each page the next one has as many as take about kPageBytes by the size of this one's
/// objects, at most twice as many as this one, and at most `page_size`.
/// Threads: one at a time.
class ListPages {
 public:
  using Item = std::function<void(std::string_view object)>;

  /// Well above an ordinary page, 500 pods of 20 KiB, and well below what the client takes.
  static constexpr std::size_t kPageBytes = std::size_t{16} << 20U;

  /// @param api      outlives this
  /// @param request  the list: its path, selectors, and the time for each page
  ListPages(KubeApi& api, Request request, int page_size);

  /// The next page; not after ended(). Calls `item` with the text of each object, unread. If the
  /// status is not 200 it calls nothing; some calls may have been made where it returns an error.
  /// @returns the answer, without its body if the status is 200;
  ///          kInvalidArgument  it is no page of a list, or has the token of an earlier page: a
  ///                            proxy that caches answers could send pages without end
  ///          kUnavailable, kTimeout, as of KubeApi::call()
  ///          kTooLarge         one object alone is too long
  Result<Response> next(const Item& item);
  /// The last page was read.
  [[nodiscard]] bool ended() const { return ended_; }
  /// Of the list, as of its last page so far.
  [[nodiscard]] const std::string& version() const { return version_; }

 private:
  Result<Response> request_page();
  void adapt(std::size_t objects, std::size_t bytes);

  KubeApi& api_;
  Request request_;
  const int page_size_;
  int limit_;  ///< objects in the next page
  std::set<std::string> tokens_;
  std::string version_;
  bool ended_ = false;
};

}  // namespace tangram::kube
