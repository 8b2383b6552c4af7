#include "base/json.hpp"
#include "base/json_members.hpp"
#include "bench/bench_app.hpp"
#include "bench/measure/figures.hpp"
#include "bench/measure/measure.hpp"
#include "kube/client.hpp"
#include "kube/local/api.hpp"

#include <fmt/format.h>

#include <atomic>
#include <mutex>
#include <thread>

namespace tangram::bench {

namespace {

using std::chrono::steady_clock;

constexpr const char* kLeases = "/apis/coordination.k8s.io/v1/namespaces/bench/leases";
constexpr const char* kLease = "tangram-extender";
constexpr const char* kOwn = "own";

/// A synthetic cluster with a Lease that another replica holds, and a pod of this one.
class ReplicaApi final : public kube::KubeApi {
 public:
  ReplicaApi(const Clock& clock, SyntheticApi& cluster) : cluster_(cluster), leases_(clock) {
    leases_.call(
        {.method = kube::Method::kPost,
         .path = kLeases,
         .body = fmt::format(
             R"({{"metadata":{{"name":"{}"}},"spec":{{"holderIdentity":"another",)"
             R"("leaseDurationSeconds":3600,"renewTime":"2026-01-01T00:00:00.000000Z"}}}})",
             kLease)});
  }

  Result<kube::Response> call(const kube::Request& request) override {
    if (request.path.starts_with(kLeases)) return call_lease(request);
    if (request.path == kube::pod_path(kBenchNamespace, kOwn)) return call_own(request);
    if (request.query.contains("labelSelector"))
      return kube::Response{.status = 200, .body = R"({"items":[]})"};
    return cluster_.call(request);
  }
  Result<kube::Response> watch(const kube::Request& request, const kube::WatchFrame& frame,
                               std::stop_token stop) override {
    return cluster_.watch(request, frame, std::move(stop));
  }

  /// The other replica gives the Lease back.
  void free_lease() {
    leases_.call({.method = kube::Method::kPatch,
                  .path = std::string(kLeases) + "/" + kLease,
                  .body = R"({"spec":{"holderIdentity":""}})",
                  .content_type = "application/merge-patch+json"});
  }
  /// When it was acquired.
  [[nodiscard]] steady_clock::time_point acquired() const { return acquired_; }

 private:
  Result<kube::Response> call_lease(const kube::Request& request) {
    auto response = leases_.call(request);
    const bool written =
        request.method == kube::Method::kPut && response && response->status == 200;
    if (written && !std::exchange(held_, true)) acquired_ = steady_clock::now();
    return response;
  }

  Result<kube::Response> call_own(const kube::Request& request) {
    const std::scoped_lock lock(mutex_);
    if (request.method != kube::Method::kPatch) return kube::Response{.status = 200, .body = own()};
    std::string body = request.body;
    json::Reader in(body);
    const auto read_label = [&](json::Reader& labels) {
      labels.object([&](std::string_view) {
        role_ = labels.kind() == json::Kind::kNull ? (labels.skip(), "") : labels.string();
      });
    };
    const auto read_metadata = [&](json::Reader& metadata) {
      json::read_members(metadata, "labels", read_label);
    };
    json::read_members(in, "metadata", read_metadata);
    if (auto done = in.finish(); !done) return done.error();
    version_ = cluster_.pod_event("MODIFIED", own());
    return kube::Response{.status = 200, .body = own()};
  }

  [[nodiscard]] std::string own() const {
    return fmt::format(
        R"({{"metadata":{{"name":"{}","namespace":"{}","uid":"own","resourceVersion":"{}",)"
        R"("labels":{{"tangram.dev/role":"{}"}}}},"spec":{{"nodeName":"gpu-node-00000",)"
        R"("containers":[]}},"status":{{"phase":"Running"}}}})",
        kOwn, kBenchNamespace, version_, role_);
  }

  SyntheticApi& cluster_;
  kube::LocalApi leases_;
  std::atomic<steady_clock::time_point> acquired_{};
  bool held_ = false;  // of the elector's thread
  std::mutex mutex_;
  // Under mutex_.
  std::int64_t version_ = 1;
  std::string role_;
};

/// From the Lease to the first answer, in seconds. @param pod  of the replica; empty = it has none
Result<double> takeover(const ClusterSize& size, const std::string& pod) {
  const SystemClock clock;
  SyntheticApi cluster(size);
  ReplicaApi api(clock, cluster);
  auto extender =
      start_extender(local_config(std::string(policies::kDefaultPolicy), 1),
                     {.api = api,
                      .clock = clock,
                      .replica = extender::Replica{std::string(kBenchNamespace), pod, "this-one"},
                      .random = [] { return 0.0; }});
  if (!extender) return extender.error();
  const PendingPod first = pending_pod(0, 1, false);
  cluster.pod_event("ADDED", first.json);
  extender->wait_until_seen(first.uid);  // the watch follows
  api.free_lease();
  while (!extender->app->serving()) std::this_thread::sleep_for(std::chrono::microseconds(100));
  return std::chrono::duration<double>(steady_clock::now() - api.acquired()).count();
}

}  // namespace

Result<Report> measure(const TakeoverRun& run) {
  const auto marked = takeover(run.size, kOwn);
  if (!marked) return marked.error();
  const auto listed = takeover(run.size, "");
  if (!listed) return listed.error();
  Figures figures;
  figures.add("takeover_s", *marked);
  figures.add("by_lists_s", *listed);
  figures.add("ratio", *marked / *listed);
  return figures.report();
}

}  // namespace tangram::bench
