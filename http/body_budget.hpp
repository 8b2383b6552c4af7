#pragma once

#include <boost/asio/buffer.hpp>
#include <boost/beast/core/buffers_range.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/optional/optional.hpp>
#include <boost/system/errc.hpp>
#include <boost/system/error_code.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

/// How much memory the bodies of all connections of a server take. Internal to the server.
namespace tangram::http {

/// Of each share, not counted, so that a bind, a filter of some hundred nodes and every refusal
/// pass while large bodies fill the budget. 1,024 connections hold 64 MiB of that at most.
inline constexpr std::size_t kUncountedBodyBytes = std::size_t{64} << 10;

/// Threads: safe.
class BodyBudget {
 public:
  explicit BodyBudget(std::size_t most) : most_(most) {}
  [[nodiscard]] std::size_t used() const { return used_; }

  bool take(std::size_t bytes) {
    if (used_.fetch_add(bytes) + bytes <= most_) return true;
    used_ -= bytes;
    return false;
  }
  void give_back(std::size_t bytes) { used_ -= bytes; }

 private:
  const std::size_t most_;
  std::atomic<std::size_t> used_ = 0;
};

/// The memory of one request and its answer; given back with it. Threads: one at a time.
class BodyShare {
 public:
  BodyShare() = default;
  explicit BodyShare(BodyBudget& budget) : budget_(&budget) {}
  ~BodyShare() {
    if (budget_ != nullptr) budget_->give_back(counted_);
  }
  BodyShare(BodyShare&& other) noexcept { swap(other); }
  BodyShare& operator=(BodyShare&& other) noexcept {
    BodyShare(std::move(other)).swap(*this);
    return *this;
  }
  BodyShare(const BodyShare&) = delete;
  BodyShare& operator=(const BodyShare&) = delete;

  /// @returns false, and takes nothing, if the budget has not that much left
  [[nodiscard]] bool grow(std::size_t bytes) {
    const std::size_t free = kUncountedBodyBytes - std::min(bytes_, kUncountedBodyBytes);
    const std::size_t more = bytes - std::min(bytes, free);
    if (budget_ != nullptr && more > 0 && !budget_->take(more)) return false;
    bytes_ += bytes;
    counted_ += more;
    return true;
  }

 private:
  void swap(BodyShare& other) noexcept {
    std::swap(budget_, other.budget_);
    std::swap(bytes_, other.bytes_);
    std::swap(counted_, other.counted_);
  }

  BodyBudget* budget_ = nullptr;
  std::size_t bytes_ = 0;
  std::size_t counted_ = 0;
};

/// How the parser says that the budget is spent.
[[nodiscard]] inline boost::system::error_code no_room_for_body() {
  return make_error_code(boost::system::errc::not_enough_memory);
}

/// A body, as the parser's library wants it, that counts what has arrived. What a client merely
/// announces costs nothing, in the budget or in memory; a text that grows takes up to twice its
/// size for a moment.
struct CountedBody {
  struct value_type {  // NOLINT(readability-identifier-naming): the library's name for it
    std::string text;
    BodyShare share;
  };

  static std::uint64_t size(const value_type& body) { return body.text.size(); }

  class reader {  // NOLINT(readability-identifier-naming): the same
   public:
    template <bool IsRequest, class Fields>
    reader(boost::beast::http::header<IsRequest, Fields>& /*head*/, value_type& body)
        : body_(body) {}

    void init(const boost::optional<std::uint64_t>& /*length*/, boost::system::error_code& error) {
      error = {};
    }
    template <class Buffers>
    std::size_t put(const Buffers& buffers, boost::system::error_code& error) {
      const std::size_t count = boost::beast::buffer_bytes(buffers);
      if (!body_.share.grow(count)) {
        error = no_room_for_body();
        return 0;
      }
      error = {};
      for (const auto buffer : boost::beast::buffers_range_ref(buffers)) {
        body_.text.append(static_cast<const char*>(buffer.data()), buffer.size());
      }
      return count;
    }
    static void finish(boost::system::error_code& error) { error = {}; }

   private:
    value_type& body_;
  };
};

}  // namespace tangram::http
