#pragma once

#include "base/clock.hpp"
#include "bench/bench_app.hpp"
#include "bench/replay/scheduler.hpp"
#include "kube/local/api.hpp"
#include "policies/workload.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace tangram::bench {

/// How kube-scheduler is set up in the replay.
struct HttpReplayOptions {
  std::string policy;
  /// The short-list; 1 leaves nothing for quantised scores to change.
  int short_list = 1;
  /// The extender's weight in kube-scheduler: one point of its 0..10 counts 10 x weight, beside
  /// the in-tree scores for resources, which the replay adds.
  int weight = 121;
  /// How many times, at random moments, the ledger is rebuilt from the API server and compared.
  int audits = 0;
  std::uint64_t audit_seed = 1;
};

/// Replays through the real extender, over HTTP, on a LocalApi of the trace's nodes. It creates
/// every pod, also CPU-only ones, calls filter and prioritize, chooses as kube-scheduler would,
/// binds, and reads the grant from the pod. A pod that fits nowhere stays, pending. Evictions are
/// deletions. What the extender does by itself after some time, evictions among it, is turned off:
/// time is virtual here.
class HttpScheduler final : public Scheduler {
 public:
  /// @param trace  outlives the scheduler
  static Result<std::unique_ptr<HttpScheduler>> create(const Trace& trace,
                                                       HttpReplayOptions options);

  Result<std::optional<Placed>> place(PodNumber number, const TracePod& pod,
                                      const std::vector<std::size_t>& feasible) override;
  /// The pod is deleted at the API server.
  Result<void> remove(PodNumber number) override;
  /// @returns kInvalidArgument: a pod cannot be bound to given cards, because the extender chooses
  Result<void> move(const std::vector<Move>& moves) override;
  /// The node's annotation says so.
  Result<void> set_health(std::size_t node, const std::vector<std::uint32_t>& gpus,
                          bool healthy) override;
  [[nodiscard]] std::shared_ptr<const model::ClusterSnapshot> snapshot() override;

  /// The number of audits. All passed, because a failed one ends the replay.
  [[nodiscard]] std::string remarks() const override;

 private:
  HttpScheduler(const Trace& trace, HttpReplayOptions options);
  Result<void> start();
  /// A pod as the API server has it.
  struct Known {
    ExtenderClient::PodName name;
    std::string json;  ///< as it was created
    bool bound = false;
  };
  Result<Known*> create_pod(PodNumber number, const TracePod& pod);
  /// The node that kube-scheduler would choose; nothing = filter left none.
  Result<std::optional<std::string>> schedule(const TracePod& pod, const std::string& json,
                                              const std::vector<std::size_t>& feasible);
  Result<std::string> choose_node(const TracePod& pod, std::string_view json,
                                  const std::vector<std::string>& short_list);
  Result<Placed> read_grant(const ExtenderClient::PodName& pod, const std::string& node);
  Result<void> audit_if_due(PodNumber number);

  const Trace& trace_;
  HttpReplayOptions options_;
  SystemClock clock_;
  kube::LocalApi api_;
  std::optional<LocalExtender> extender_;
  std::map<std::string, std::size_t, std::less<>> node_index_;
  std::map<PodNumber, Known> pods_;  ///< those that exist
  std::set<PodNumber> audit_at_;
  int audits_passed_ = 0;
};

}  // namespace tangram::bench
