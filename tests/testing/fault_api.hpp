#pragma once

#include "kube/api.hpp"
#include "kube/reflector.hpp"
#include "tests/testing/fault_plan.hpp"

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <stop_token>
#include <utility>
#include <vector>

namespace tangram::testing {

/// An API server before which the network misbehaves as the plan says; everything else passes.
/// Records every call that is no watch. Threads: safe; a blocked call blocks no other.
class FaultApi final : public kube::KubeApi {
 public:
  /// Recording keeps every request in memory: for a test, not for a server that runs for hours.
  enum class Record { kCalls, kNothing };

  explicit FaultApi(kube::KubeApi& server, Record record = Record::kCalls,
                    Sleeper sleeper = sleep_until_stopped)
      : server_(server), record_(record), sleeper_(std::move(sleeper)) {}
  ~FaultApi() override { release(); }
  FaultApi(const FaultApi&) = delete;
  FaultApi& operator=(const FaultApi&) = delete;

  [[nodiscard]] FaultPlan& plan() { return plan_; }

  /// The next call that matches has the fault, once.
  void will(CallMatch match, Fault fault) {
    plan_.add({.match = std::move(match), .fault = fault, .times = 1});
  }
  void will(CallMatch match, Fault::Kind kind) { will(std::move(match), Fault{.kind = kind}); }
  void will_answer(CallMatch match, int status) {
    will(std::move(match), Fault{.kind = Fault::Kind::kAnswer, .status = status});
  }

  /// Waits until `count` calls are blocked.
  void await_held(std::size_t count);
  /// Lets all blocked calls continue. Later ones are blocked again.
  void release_held();
  /// Lets all blocked calls continue, also later ones, and ends all delays.
  void release();

  [[nodiscard]] std::vector<kube::Request> calls() const;
  [[nodiscard]] std::vector<kube::Request> calls(const CallMatch& match) const;
  /// Hits of the plan that nothing has met yet.
  [[nodiscard]] std::size_t faults_left() const { return plan_.left(); }

  Result<kube::Response> call(const kube::Request& request) override;
  Result<kube::Response> watch(const kube::Request& request, const kube::WatchFrame& frame,
                               std::stop_token stop) override;

 private:
  void hold(const std::stop_token& stop);
  Result<kube::Response> watch_until(const kube::Request& request, const kube::WatchFrame& frame,
                                     const std::stop_token& stop, const Fault& fault);

  kube::KubeApi& server_;
  const Record record_;
  const Sleeper sleeper_;
  FaultPlan plan_;
  std::stop_source ending_;
  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  std::vector<kube::Request> calls_;
  std::size_t held_ = 0;
  std::uint64_t releases_ = 0;
};

}  // namespace tangram::testing
