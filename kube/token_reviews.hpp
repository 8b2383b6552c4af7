#pragma once

#include "base/clock.hpp"
#include "kube/api.hpp"
#include "kube/rate_limiter.hpp"

#include <chrono>
#include <cstddef>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

namespace tangram::kube {

/// Whether the bearer of a token may read a path, as the cluster's own authentication and
/// authorization say: a TokenReview, then a SubjectAccessReview of `get` on the path.
///
/// A positive answer is kept for kTrust, so that a scrape needs no call each time. Negative answers
/// are not kept, so that unknown tokens do not displace known ones. They use the same reviews.
/// Threads: safe.
class TokenReviews {
 public:
  /// How long a token that was withdrawn may still read.
  static constexpr std::chrono::seconds kTrust{60};
  /// A few scrapers, each with a token or two and a path or two. The oldest is forgotten first.
  static constexpr std::size_t kRemembered = 256;
  /// Reviews that begin in the long run and at once: scrapers need two a minute each, and more
  /// would be taken from what the API server grants this program.
  static constexpr int kPerSecond = 5;
  static constexpr int kBurst = 20;

  enum class Access {
    kAllowed,
    kUnauthenticated,  ///< no token of the cluster's
    kForbidden,        ///< of a user who may not read this
    kUnknown,          ///< too many reviews, or no answer that can be read: ask again later
  };

  /// @param api, clock  outlive it
  TokenReviews(KubeApi& api, const Clock& clock);

  /// Whether it is known, without a call, that it may be read.
  [[nodiscard]] bool remembers(std::string_view token, std::string_view path) const;

  /// Blocks for two calls at most. Tokens are neither logged nor kept.
  Access review(const std::string& token, const std::string& path);

 private:
  Access unknown(std::string_view kind, const Error& error);
  void remember(std::string key);

  KubeApi& api_;
  const Clock& clock_;
  RateLimiter reviews_;
  RateLimiter lines_;  ///< of the log
  mutable std::mutex mutex_;
  std::map<std::string, TimePoint, std::less<>> allowed_;  ///< until when, by digest
};

}  // namespace tangram::kube
