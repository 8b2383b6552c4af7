#include "tests/testing/fault_api.hpp"

#include <string>

namespace tangram::testing {

namespace {

using Kind = Fault::Kind;

/// As a real server words it; 429 comes as plain text.
kube::Response refusal(const Fault& fault) {
  if (fault.status == 429) {
    return {.status = fault.status,
            .body = "Too many requests, please try again later.",
            .retry_after = fault.retry_after.value_or(std::chrono::seconds(1))};
  }
  const std::string code = std::to_string(fault.status);
  return {.status = fault.status,
          .body = R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",)"
                  R"("message":"scripted )" +
                  code + R"(","reason":"Scripted","code":)" + code + "}",
          .retry_after = fault.retry_after};
}

constexpr std::string_view kExpiredFrame =
    R"({"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","metadata":{},)"
    R"("status":"Failure","message":"too old resource version: scripted",)"
    R"("reason":"Expired","code":410}})";

Error refused() { return fail(Errc::kUnavailable, "connection refused"); }
Error lost() { return fail(Errc::kTimeout, "no answer in time"); }

}  // namespace

void FaultApi::await_held(std::size_t count) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return held_ >= count; });
}

void FaultApi::release_held() {
  const std::scoped_lock lock(mutex_);
  ++releases_;
  changed_.notify_all();
}

void FaultApi::release() { ending_.request_stop(); }

std::vector<kube::Request> FaultApi::calls() const {
  const std::scoped_lock lock(mutex_);
  return calls_;
}

std::vector<kube::Request> FaultApi::calls(const CallMatch& match) const {
  std::vector<kube::Request> some = calls();
  std::erase_if(some, [&](const kube::Request& call) { return !match.matches(call); });
  return some;
}

Result<kube::Response> FaultApi::call(const kube::Request& request) {
  if (record_ == Record::kCalls) {
    const std::scoped_lock lock(mutex_);
    calls_.push_back(request);
  }
  const std::optional<Fault> fault = plan_.next(request, false);
  if (!fault) return server_.call(request);
  switch (fault->kind) {
    case Kind::kRefuseBefore:
      return refused();
    case Kind::kLoseBefore:
      return lost();
    case Kind::kLoseAnswer:
      (void)server_.call(request);
      return lost();
    case Kind::kAnswer:
      return refusal(*fault);
    case Kind::kHold:
      hold(ending_.get_token());
      break;
    case Kind::kDelay:
      sleeper_(fault->delay, ending_.get_token());
      break;
    case Kind::kDelayAnswer: {
      auto answer = server_.call(request);
      sleeper_(fault->delay, ending_.get_token());
      return answer;
    }
    case Kind::kDelayFrames:
    case Kind::kCutWatch:
    case Kind::kExpireWatch:
      break;  // of watches alone
  }
  return server_.call(request);
}

Result<kube::Response> FaultApi::watch(const kube::Request& request, const kube::WatchFrame& frame,
                                       std::stop_token stop) {
  const std::optional<Fault> fault = plan_.next(request, true);
  if (!fault) return server_.watch(request, frame, std::move(stop));
  // Stopping the watch ends its wait as well, and so does release().
  std::stop_source waiting;
  const std::stop_callback by_caller(stop, [&] { waiting.request_stop(); });
  const std::stop_callback by_end(ending_.get_token(), [&] { waiting.request_stop(); });
  switch (fault->kind) {
    case Kind::kRefuseBefore:
      return refused();
    case Kind::kLoseBefore:
    case Kind::kLoseAnswer:
      return lost();
    case Kind::kAnswer:
      return refusal(*fault);
    case Kind::kHold:
      hold(waiting.get_token());
      break;
    case Kind::kDelay:
    case Kind::kDelayAnswer:
      sleeper_(fault->delay, waiting.get_token());
      break;
    case Kind::kDelayFrames:
      return server_.watch(
          request,
          [&](const std::string& text) {
            sleeper_(fault->delay, waiting.get_token());
            return frame(text);
          },
          std::move(stop));
    case Kind::kCutWatch:
    case Kind::kExpireWatch:
      return watch_until(request, frame, stop, *fault);
  }
  return server_.watch(request, frame, std::move(stop));
}

Result<kube::Response> FaultApi::watch_until(const kube::Request& request,
                                             const kube::WatchFrame& frame,
                                             const std::stop_token& stop, const Fault& fault) {
  std::uint64_t sent = 0;
  bool cut = fault.frames == 0;
  bool wanted = true;
  Result<kube::Response> end = kube::Response{.status = 200, .body = {}, .retry_after = {}};
  if (!cut) {
    end = server_.watch(
        request,
        [&](std::string text) {
          wanted = frame(std::move(text));
          cut = ++sent == fault.frames;
          return wanted && !cut;
        },
        stop);
  }
  if (!cut) return end;
  if (fault.kind == Kind::kCutWatch) return lost();
  if (wanted) (void)frame(std::string(kExpiredFrame));
  return end;
}

void FaultApi::hold(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  ++held_;
  changed_.notify_all();
  changed_.wait(lock, stop, [&, before = releases_] { return releases_ != before; });
}

}  // namespace tangram::testing
