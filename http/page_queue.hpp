#pragma once

#include "base/work_queue.hpp"
#include "http/types.hpp"

#include <cstddef>
#include <functional>

namespace tangram::http {

/// Makes pages that take a moment, away from the server's threads: one after the other, on one
/// core, however many ask. Where too many wait already, the answer is 503.
/// Threads: safe.
class PageQueue {
 public:
  using Page = std::function<Response(const Request&)>;

  /// A few people and scrapers may wait for their page.
  static constexpr std::size_t kWaiting = 16;

  /// Has the shape that a Router takes. Outlived by this queue.
  [[nodiscard]] Handler in_turn(Page page);

  /// Waits until all pages are made; makes no more afterwards.
  void drain() { queue_.drain(); }

 private:
  WorkQueue queue_{1, kWaiting};
};

}  // namespace tangram::http
