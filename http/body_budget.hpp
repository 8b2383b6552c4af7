#pragma once

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

/// How much memory clients may use at the same time: the bodies of all connections of a server, and
/// what reading a large one takes.
namespace tangram::http {

/// Of each share, not counted, so that a bind, a filter of some hundred nodes and every refusal
/// pass while large bodies fill the budget. 1,024 connections hold 64 MiB of that at most.
inline constexpr std::size_t kUncountedBodyBytes = std::size_t{64} << 10;

/// Whose bodies they are.
struct BodySource {
  std::string_view origin;  ///< see Connection
  bool verified = false;    ///< by its certificate
};

/// One source may hold as many bytes as are left free after it. One alone gets half of all, n that
/// grow side by side get an n+1st each, and as much is left for the next one.
/// Verified clients may take all that is free. Threads: safe.
class BodyBudget {
 public:
  explicit BodyBudget(std::size_t most) : most_(most) {}
  [[nodiscard]] std::size_t used() const {
    const std::lock_guard lock(mutex_);
    return used_;
  }

  /// @returns false, and takes nothing, if the source may not have that much
  bool take(const BodySource& source, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    if (bytes > most_ - used_) return false;
    const auto found = held_.find(source.origin);
    const std::size_t held = bytes + (found == held_.end() ? 0 : found->second);
    if (!source.verified && held > most_ - used_ - bytes) return false;
    if (found == held_.end()) {
      held_.emplace(source.origin, held);
    } else {
      found->second = held;
    }
    used_ += bytes;
    return true;
  }
  /// @param bytes  of what it took
  void give_back(const BodySource& source, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    const auto found = held_.find(source.origin);
    assert(found != held_.end() && found->second >= bytes);
    used_ -= bytes;
    found->second -= bytes;
    if (found->second == 0) held_.erase(found);
  }

 private:
  const std::size_t most_;
  mutable std::mutex mutex_;
  std::size_t used_ = 0;
  std::map<std::string, std::size_t, std::less<>> held_;  // by origin; none that holds nothing
};

/// The memory of one request and its answer; given back with it. Threads: one at a time.
class BodyShare {
 public:
  BodyShare() = default;
  /// @param source  its text outlives the share
  BodyShare(BodyBudget& budget, BodySource source) : budget_(&budget), source_(source) {}
  ~BodyShare() {
    if (counted_ > 0) budget_->give_back(source_, counted_);
  }
  BodyShare(BodyShare&& other) noexcept { swap(other); }
  BodyShare& operator=(BodyShare&& other) noexcept {
    BodyShare(std::move(other)).swap(*this);
    return *this;
  }
  BodyShare(const BodyShare&) = delete;
  BodyShare& operator=(const BodyShare&) = delete;

  /// @returns false, and takes nothing, if the budget has not that much for the source
  [[nodiscard]] bool grow(std::size_t bytes) {
    const std::size_t free = kUncountedBodyBytes - std::min(bytes_, kUncountedBodyBytes);
    const std::size_t more = bytes - std::min(bytes, free);
    if (budget_ != nullptr && more > 0 && !budget_->take(source_, more)) return false;
    bytes_ += bytes;
    if (budget_ != nullptr) counted_ += more;
    return true;
  }

 private:
  void swap(BodyShare& other) noexcept {
    std::swap(budget_, other.budget_);
    std::swap(source_, other.source_);
    std::swap(bytes_, other.bytes_);
    std::swap(counted_, other.counted_);
  }

  BodyBudget* budget_ = nullptr;
  BodySource source_;
  std::size_t bytes_ = 0;
  std::size_t counted_ = 0;
};

}  // namespace tangram::http
