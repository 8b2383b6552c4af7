#pragma once

#include "base/clock.hpp"
#include "kube/api.hpp"
#include "kube/rate_limiter.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

namespace tangram::kube {

/// Whether the bearer of a token may read a path, as the cluster's own authentication and
/// authorization say: a TokenReview, then a SubjectAccessReview of `get` on the path.
///
/// A positive answer is kept, so that a scrape needs no call each time:
///
///     age of the answer    the bearer
///     below kRenewAfter    reads
///     below kTrust         reads, and is reviewed meanwhile
///     below kKept          is reviewed first, and reads if the review has no outcome
///
/// Negative answers are not kept, so that unknown tokens do not displace known ones: whoever is
/// refused can make as many reviews begin as there may be. Therefore tokens with a kept answer have
/// a budget of their own, and so have other tokens from an address with such an answer: clients'
/// tokens are replaced every hour. Threads: safe.
class TokenReviews {
 public:
  static constexpr std::chrono::seconds kRenewAfter{40};
  /// How long a token that was withdrawn may still read.
  static constexpr std::chrono::seconds kTrust{60};
  /// The same while reviews have no outcome: metrics matter most when the API server is busy.
  static constexpr std::chrono::seconds kKept{300};
  /// A few scrapers, each with a token or two and a path or two. The oldest is forgotten first.
  static constexpr std::size_t kRemembered = 256;
  /// Reviews that begin in the long run and at once: scrapers need two a minute each, and more
  /// would be taken from what the API server grants this program.
  static constexpr int kPerSecond = 5;
  static constexpr int kBurst = 20;
  /// The same of tokens with a kept answer: kRemembered in kRenewAfter, and more.
  static constexpr int kRenewalsPerSecond = 7;

  enum class Access {
    kAllowed,
    kUnauthenticated,  ///< no token of the cluster's
    kForbidden,        ///< of a user who may not read this
    kUnknown,          ///< too many reviews, or no answer that can be read: ask again later
  };

  struct Reader {
    std::string_view token;
    std::string_view path;
    /// All of its client's, for a /64 of IPv6 may hold every pod of a node; "" = not known.
    std::string_view address = {};
  };
  enum class Standing : std::uint8_t {
    kNew,      ///< has not read within kKept
    kKnown,    ///< another token of its address has
    kKept,     ///< may read if a review has no outcome
    kAgeing,   ///< may read; a review should renew that
    kTrusted,  ///< may read
  };

  /// @param api, clock  outlive it
  TokenReviews(KubeApi& api, const Clock& clock);

  /// What is known without a call.
  [[nodiscard]] Standing standing(const Reader& reader) const;

  /// Blocks for two calls at most. Tokens are neither logged nor kept.
  Access review(const Reader& reader);

 private:
  /// When a review had a positive outcome, by what it was about.
  using Times = std::map<std::string, TimePoint, std::less<>>;

  [[nodiscard]] RateLimiter& budget_of(Standing standing);
  Access ask(const Reader& reader);
  Access unknown(std::string_view kind, const Error& error);
  void remember(const Reader& reader);
  void forget(const Reader& reader);
  [[nodiscard]] bool keeps(const Reader& reader) const;
  static void put(Times& times, std::string key, TimePoint now);

  KubeApi& api_;
  const Clock& clock_;
  RateLimiter reviews_;
  RateLimiter known_;     ///< reviews of other tokens of known addresses
  RateLimiter renewals_;  ///< reviews of tokens with a kept answer
  RateLimiter lines_;     ///< of the log
  mutable std::mutex mutex_;
  Times allowed_;  ///< by digest
  Times addresses_;
};

}  // namespace tangram::kube
