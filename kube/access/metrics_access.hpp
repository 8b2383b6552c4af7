#pragma once

#include "base/work_queue.hpp"
#include "http/types.hpp"
#include "kube/token_reviews.hpp"

#include <cstddef>
#include <string>

namespace tangram::kube {

/// Lets a page be read only with a bearer token whose user may `get` its path in the cluster.
/// Otherwise the answer is 401 (no such token), 403 (no such right) or 503 (not known now).
/// Threads: safe.
class MetricsAccess {
 public:
  /// Reviews at one time, and how many may wait for one: a few scrapers.
  static constexpr std::size_t kReviews = 2;
  static constexpr std::size_t kWaiting = 16;

  /// @param api, clock  outlive it
  MetricsAccess(KubeApi& api, const Clock& clock) : reviews_(api, clock) {}

  /// The page behind the check. Outlived by this object. Reviews wait on threads of their own.
  [[nodiscard]] http::Handler guarded(http::Handler page);

  /// Waits until all reviews are done; makes no more afterwards.
  void drain();

 private:
  void renew(const http::Request& request, const std::string& token);

  TokenReviews reviews_;
  WorkQueue queue_{kReviews, kWaiting};
  /// For clients that have read lately: unknown tokens that wait for a slow API server do not keep
  /// them waiting.
  WorkQueue known_{kReviews, kWaiting};
};

}  // namespace tangram::kube
