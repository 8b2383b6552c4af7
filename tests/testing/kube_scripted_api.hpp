#pragma once

#include "kube/api.hpp"

#include <deque>
#include <functional>
#include <mutex>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

namespace tangram::testing {

/// An API server with scripted responses, in order. Records the requests.
/// When a script runs out it calls `finished` (a test stops its reflector there) and answers
/// kUnavailable. Threads: safe.
class ScriptedApi final : public kube::KubeApi {
 public:
  using Outcome = Result<kube::Response>;
  struct WatchScript {
    std::vector<std::string> frames;
    Outcome end;
    std::function<void()> meanwhile;
  };

  std::function<void()> finished = [] {};
  /// What a list of at most one object shows: a reader asks for its version alone. Such calls need
  /// no script and are not recorded.
  std::string current_version = "18446744073709551615";  // no reader is ahead of it

  void will_answer(Outcome outcome) { answers_.push_back(std::move(outcome)); }
  void will_answer(int status, std::string body) {
    answers_.push_back(
        kube::Response{.status = status, .body = std::move(body), .retry_after = {}});
  }
  static Outcome ended(int status = 200, std::string body = "") {
    return kube::Response{.status = status, .body = std::move(body), .retry_after = {}};
  }
  /// @param meanwhile  called between the frames and the end, as if time passed there
  void will_watch(
      std::vector<std::string> frames, Outcome end, std::function<void()> meanwhile = [] {}) {
    watches_.push_back({std::move(frames), std::move(end), std::move(meanwhile)});
  }
  /// A watch that the server ends.
  void will_watch(std::vector<std::string> frames) { will_watch(std::move(frames), ended()); }

  Outcome call(const kube::Request& request) override {
    const std::lock_guard lock(mutex_);
    if (asks_for_version(request)) return ended(200, empty_list());
    calls_.push_back(request);
    if (answers_.empty()) return run_out();
    Outcome outcome = std::move(answers_.front());
    answers_.pop_front();
    return outcome;
  }

  Outcome watch(const kube::Request& request, const kube::WatchFrame& frame,
                std::stop_token /*stop*/) override {
    const std::lock_guard lock(mutex_);
    opened_.push_back(request);
    if (watches_.empty()) return run_out();
    const WatchScript script = std::move(watches_.front());
    watches_.pop_front();
    for (const std::string& text : script.frames) {
      if (!frame(text)) return ended();
    }
    script.meanwhile();
    return script.end;
  }

  /// Read after the reflector has ended.
  [[nodiscard]] const std::vector<kube::Request>& calls() const { return calls_; }
  [[nodiscard]] const std::vector<kube::Request>& opened() const { return opened_; }

 private:
  static bool asks_for_version(const kube::Request& request) {
    const auto limit = request.query.find("limit");
    return limit != request.query.end() && limit->second == "1";
  }
  [[nodiscard]] std::string empty_list() const {
    return R"({"metadata":{"resourceVersion":")" + current_version + R"("},"items":[]})";
  }
  Outcome run_out() {
    finished();
    return fail(Errc::kUnavailable, "the script has run out");
  }

  std::mutex mutex_;
  std::deque<Outcome> answers_;
  std::deque<WatchScript> watches_;
  std::vector<kube::Request> calls_;
  std::vector<kube::Request> opened_;
};

}  // namespace tangram::testing
