#pragma once

#include "kube/api.hpp"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tangram::testing {

/// What goes wrong with one call.
struct Fault {
  enum class Kind {
    kRefuseBefore,  ///< kUnavailable; the server never sees the request
    kLoseBefore,    ///< kTimeout; the server never sees the request
    kLoseAnswer,    ///< kTimeout; the server has carried the request out
    kAnswer,        ///< this status instead of the server, which never sees the request
    kHold,          ///< waits for release(), then goes on to the server
  };
  Kind kind = Kind::kRefuseBefore;
  int status = 0;  ///< of kAnswer
};

/// Which calls a fault is for: of the method, with the path ending like this.
struct CallMatch {
  kube::Method method = kube::Method::kGet;
  std::string path_ends;
  [[nodiscard]] bool matches(const kube::Request& request) const {
    return request.method == method && request.path.ends_with(path_ends);
  }
};
[[nodiscard]] inline CallMatch binding_of(const std::string& pod) {
  return {kube::Method::kPost, "/pods/" + pod + "/binding"};
}
[[nodiscard]] inline CallMatch any_binding() { return {kube::Method::kPost, "/binding"}; }
[[nodiscard]] inline CallMatch read_of(const std::string& pod) {
  return {kube::Method::kGet, "/pods/" + pod};
}

/// An API server before which the network misbehaves as the test wrote it down. Each fault hits
/// the first call that it matches, once; everything else passes. Records every call.
/// Threads: safe; a held call holds nobody else.
class FaultApi final : public kube::KubeApi {
 public:
  explicit FaultApi(kube::KubeApi& server) : server_(server) {}
  ~FaultApi() override { release(); }
  FaultApi(const FaultApi&) = delete;
  FaultApi& operator=(const FaultApi&) = delete;

  void will(CallMatch match, Fault fault) {
    const std::scoped_lock lock(mutex_);
    faults_.emplace_back(std::move(match), fault);
  }
  void will(CallMatch match, Fault::Kind kind) { will(std::move(match), Fault{.kind = kind}); }
  void will_answer(CallMatch match, int status) {
    will(std::move(match), Fault{.kind = Fault::Kind::kAnswer, .status = status});
  }

  /// Waits until `count` calls are held.
  void await_held(std::size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return held_ >= count; });
  }
  /// Lets all held calls go on, those to come too.
  void release() {
    const std::scoped_lock lock(mutex_);
    released_ = true;
    changed_.notify_all();
  }

  [[nodiscard]] std::vector<kube::Request> calls() const {
    const std::scoped_lock lock(mutex_);
    return calls_;
  }
  [[nodiscard]] std::vector<kube::Request> calls(const CallMatch& match) const {
    std::vector<kube::Request> some = calls();
    std::erase_if(some, [&](const kube::Request& call) { return !match.matches(call); });
    return some;
  }
  /// Faults that nothing has met yet: a test that ends with some has tested less than it says.
  [[nodiscard]] std::size_t faults_left() const {
    const std::scoped_lock lock(mutex_);
    return faults_.size();
  }

  Result<kube::Response> call(const kube::Request& request) override {
    const std::optional<Fault> fault = next_fault(request);
    if (!fault) return server_.call(request);
    switch (fault->kind) {
      case Fault::Kind::kRefuseBefore:
        return fail(Errc::kUnavailable, "connection refused");
      case Fault::Kind::kLoseBefore:
        return fail(Errc::kTimeout, "no answer in time");
      case Fault::Kind::kLoseAnswer:
        (void)server_.call(request);
        return fail(Errc::kTimeout, "no answer in time");
      case Fault::Kind::kAnswer:
        return refusal(fault->status);
      case Fault::Kind::kHold:
        hold();
        break;
    }
    return server_.call(request);
  }

  Result<kube::Response> watch(const kube::Request& request, const kube::WatchFrame& frame,
                               std::stop_token stop) override {
    return server_.watch(request, frame, std::move(stop));
  }

 private:
  std::optional<Fault> next_fault(const kube::Request& request) {
    const std::scoped_lock lock(mutex_);
    calls_.push_back(request);
    const auto hit = std::find_if(faults_.begin(), faults_.end(), [&](const auto& scripted) {
      return scripted.first.matches(request);
    });
    if (hit == faults_.end()) return std::nullopt;
    const Fault fault = hit->second;
    faults_.erase(hit);
    return fault;
  }

  /// As a real server words it; 429 comes as plain text.
  static kube::Response refusal(int status) {
    if (status == 429) {
      return {.status = status,
              .body = "Too many requests, please try again later.",
              .retry_after = std::chrono::seconds(1)};
    }
    const std::string code = std::to_string(status);
    return {.status = status,
            .body = R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",)"
                    R"("message":"scripted )" +
                    code + R"(","reason":"Scripted","code":)" + code + "}",
            .retry_after = {}};
  }

  void hold() {
    std::unique_lock lock(mutex_);
    ++held_;
    changed_.notify_all();
    changed_.wait(lock, [&] { return released_; });
  }

  kube::KubeApi& server_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::pair<CallMatch, Fault>> faults_;
  std::vector<kube::Request> calls_;
  std::size_t held_ = 0;
  bool released_ = false;
};

}  // namespace tangram::testing
