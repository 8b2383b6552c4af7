#pragma once

#include "kube/api.hpp"
#include "kube/local/route.hpp"
#include "kube/local/status.hpp"
#include "kube/local/store.hpp"

#include <chrono>
#include <stop_token>
#include <string>

namespace tangram::kube {

/// A watch request.
struct WatchOrder {
  LocalStore::Range range;  ///< range.at: the version to start after
  bool from_now = false;    ///< no version: first what there is, as ADDED
  bool bookmarks = false;
  std::chrono::seconds timeout{0};
};
[[nodiscard]] ApiResult<WatchOrder> read_watch(const Route& route, const Request& request,
                                               std::uint64_t current);

/// Hands over frames until the stream ends: by its timeout, `frame`, `stop`, or an ERROR frame 410.
void run_watch(const LocalStore& store, const WatchOrder& order, const WatchFrame& frame,
               const std::stop_token& stop);

}  // namespace tangram::kube
