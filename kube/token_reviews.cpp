#include "kube/token_reviews.hpp"

#include "base/json_members.hpp"
#include "base/result.hpp"
#include "base/sha256.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

namespace tangram::kube {
namespace {

using Access = TokenReviews::Access;
using Standing = TokenReviews::Standing;

/// The API server answers in milliseconds, and Prometheus waits 10 s for both reviews and the page.
constexpr std::chrono::milliseconds kTimeout{3'000};
constexpr std::chrono::seconds kLogged{10};  // a line in so long, whatever clients send

struct User {
  std::string name;
  std::string uid;
  std::vector<std::string> groups;
  std::map<std::string, std::vector<std::string>> extra;
};

std::string key_of(const TokenReviews::Reader& reader) {
  return sha256(reader.token).append(reader.path);
}

std::string token_review(std::string_view token) {
  std::string text;
  json::Writer out(text);
  out.begin_object()
      .member("apiVersion", "authentication.k8s.io/v1")
      .member("kind", "TokenReview")
      .key("spec")
      .begin_object()
      .member("token", token)
      .end_object()
      .end_object();
  return text;
}

void write_texts(json::Writer& out, const std::vector<std::string>& texts) {
  out.begin_array();
  for (const std::string& text : texts) out.string(text);
  out.end_array();
}

std::string access_review(const User& user, std::string_view path) {
  std::string text;
  json::Writer out(text);
  out.begin_object()
      .member("apiVersion", "authorization.k8s.io/v1")
      .member("kind", "SubjectAccessReview")
      .key("spec")
      .begin_object()
      .member("user", user.name)
      .member("uid", user.uid);
  write_texts(out.key("groups"), user.groups);
  out.key("extra").begin_object();
  for (const auto& [key, values] : user.extra) write_texts(out.key(key), values);
  out.end_object()
      .key("nonResourceAttributes")
      .begin_object()
      .member("path", path)
      .member("verb", "get")
      .end_object()
      .end_object()
      .end_object();
  return text;
}

Result<std::string> create(KubeApi& api, const char* path, std::string body) {
  auto answer = api.call(
      {.method = Method::kPost, .path = path, .body = std::move(body), .timeout = kTimeout});
  if (!answer) return answer.error();
  if (answer->status != 201 && answer->status != 200) {
    return fail(Errc::kUnavailable, "status " + std::to_string(answer->status));
  }
  return std::move(answer->body);
}

/// All that is read of an answer.
const json::Outline& status_outline() {
  static const json::Outline kOutline{.members = {{"status"}}};
  return kOutline;
}

/// @returns nothing if the token is none of the cluster's
Result<std::optional<User>> user_of(KubeApi& api, std::string_view token) {
  auto text = create(api, "/apis/authentication.k8s.io/v1/tokenreviews", token_review(token));
  if (!text) return text.error();
  json::Reader in(*text, status_outline());
  bool authenticated = false;
  User user;
  const auto read_extra = [&](json::Reader& reader) {
    reader.object(
        [&](std::string_view key) { json::read_into(reader, user.extra[std::string(key)]); });
  };
  json::read_members(in, "status",
                     json::members("authenticated", authenticated, "user",
                                   json::members("username", user.name, "uid", user.uid, "groups",
                                                 user.groups, "extra", read_extra)));
  if (auto done = in.finish(); !done) return done.error();
  if (!authenticated || user.name.empty()) return std::optional<User>();
  return std::optional(std::move(user));
}

Result<bool> may_get(KubeApi& api, const User& user, std::string_view path) {
  auto text =
      create(api, "/apis/authorization.k8s.io/v1/subjectaccessreviews", access_review(user, path));
  if (!text) return text.error();
  json::Reader in(*text, status_outline());
  bool allowed = false;
  bool denied = false;
  json::read_members(in, "status", json::members("allowed", allowed, "denied", denied));
  if (auto done = in.finish(); !done) return done.error();
  return allowed && !denied;
}

}  // namespace

TokenReviews::TokenReviews(KubeApi& api, const Clock& clock)
    : api_(api),
      clock_(clock),
      reviews_(kPerSecond, kBurst, clock),
      known_(kPerSecond, kBurst, clock),
      renewals_(kRenewalsPerSecond, kBurst, clock),
      lines_(kLogged, 1, clock) {}

Standing TokenReviews::standing(const Reader& reader) const {
  const std::scoped_lock lock(mutex_);
  const TimePoint now = clock_.now();
  const auto found = allowed_.find(key_of(reader));
  const auto age = found != allowed_.end() ? now - found->second : TimePoint::duration::max();
  if (age < kRenewAfter) return Standing::kTrusted;
  if (age < kTrust) return Standing::kAgeing;
  if (age < kKept) return Standing::kKept;
  const auto address = addresses_.find(reader.address);
  const bool known = address != addresses_.end() && now - address->second < kKept;
  return known ? Standing::kKnown : Standing::kNew;
}

RateLimiter& TokenReviews::budget_of(Standing standing) {
  if (standing == Standing::kNew) return reviews_;
  return standing == Standing::kKnown ? known_ : renewals_;
}

Access TokenReviews::review(const Reader& reader) {
  const Standing before = standing(reader);
  if (before == Standing::kTrusted) return Access::kAllowed;
  const bool may = budget_of(before).reserve(std::chrono::nanoseconds(0)).has_value();
  const Access access = may ? ask(reader) : Access::kUnknown;
  if (access == Access::kUnknown) return keeps(reader) ? Access::kAllowed : access;
  access == Access::kAllowed ? remember(reader) : forget(reader);
  return access;
}

Access TokenReviews::ask(const Reader& reader) {
  const auto user = user_of(api_, reader.token);
  if (!user) return unknown("TokenReview", user.error());
  if (!*user) return Access::kUnauthenticated;
  const auto allowed = may_get(api_, **user, reader.path);
  if (!allowed) return unknown("SubjectAccessReview", allowed.error());
  return *allowed ? Access::kAllowed : Access::kForbidden;
}

Access TokenReviews::unknown(std::string_view kind, const Error& error) {
  if (lines_.reserve(std::chrono::nanoseconds(0))) {
    spdlog::warn(
        "metrics: a {} failed, so a token could not be reviewed: {}; check that the service "
        "account is bound to the ClusterRole system:auth-delegator",
        kind, error.message);
  }
  return Access::kUnknown;
}

bool TokenReviews::keeps(const Reader& reader) const {
  const std::scoped_lock lock(mutex_);
  const auto found = allowed_.find(key_of(reader));
  return found != allowed_.end() && clock_.now() - found->second < kKept;
}

void TokenReviews::remember(const Reader& reader) {
  const std::scoped_lock lock(mutex_);
  const TimePoint now = clock_.now();
  put(allowed_, key_of(reader), now);
  if (!reader.address.empty()) put(addresses_, std::string(reader.address), now);
}

void TokenReviews::forget(const Reader& reader) {
  const std::scoped_lock lock(mutex_);
  allowed_.erase(key_of(reader));
}

void TokenReviews::put(Times& times, std::string key, TimePoint now) {
  std::erase_if(times, [&](const auto& entry) { return now - entry.second >= kKept; });
  if (times.size() >= kRemembered && !times.contains(key)) {
    times.erase(
        std::ranges::min_element(times, {}, [](const auto& entry) { return entry.second; }));
  }
  times[std::move(key)] = now;
}

}  // namespace tangram::kube
