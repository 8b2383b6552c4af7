// The extender needs all of its rights: without any single verb of deploy/scheduler/rbac.yaml
// something fails.

#include "base/rapidjson.hpp"
#include "cluster/move_request.hpp"
#include "tests/e2e/api_proxy.hpp"
#include "tests/e2e/fixture.hpp"
#include "tests/e2e/shipped_rights.hpp"

#include <fstream>
#include <iostream>
#include <sstream>

namespace tangram::e2e {
namespace {

using rapidjson::Document;
using rapidjson::Value;

constexpr const char* kLease =
    "/apis/coordination.k8s.io/v1/namespaces/tangram-system/leases/tangram-extender";
constexpr const char* kReplicaSets = "/apis/apps/v1/namespaces/default/replicasets";
constexpr const char* kReplica = "/api/v1/namespaces/tangram-system/pods/rights";

/// What fails without a right; "resource verb" is its name.
const std::map<std::string, std::string> kBreaks = {
    {"nodes list", "reads the cluster"},
    {"nodes watch", "hears of changes"},
    {"pods get", "labels its pod"},
    {"pods list", "reads the cluster"},
    {"pods watch", "hears of changes"},
    {"pods/binding create", "binds"},
    {"pods/eviction create", "evicts pods that cannot start"},
    {"pods/status patch", "makes room for an urgent pod"},
    {"poddisruptionbudgets list", "reads budgets"},
    {"poddisruptionbudgets watch", "reads budgets"},
    {"podgroups list", "reads pod groups"},
    {"podgroups watch", "reads pod groups"},
    {"events create", "writes events"},
    {"events patch", "counts repeated events"},
    {"leases create", "leads"},
    {"leases get", "leads"},
    {"leases update", "renews the lease"},
    {"pods patch", "labels its pod"},
    {"csistoragecapacities patch", "wakes waiting pods"},
    {"configmaps get", "answers requests of moves"},
    {"configmaps patch", "answers requests of moves"},
};

constexpr const char* kFile = "deploy/scheduler/rbac.yaml";

std::string to_text(const Value& value) {
  rapidjson::StringBuffer text;
  rapidjson::Writer<rapidjson::StringBuffer> writer(text);
  value.Accept(writer);
  return text.GetString();
}

class RightsTest : public E2eTest {
 protected:
  ~RightsTest() override {
    for (const Role& role : shipped_roles(kFile)) set(role);
    cluster_.remove(kReplica);
    cluster_.remove(std::string(kReplicaSets) + "/stuck");
  }

  void set(const Role& role) { role.apply(cluster_); }

  /// Makes the extender use every right. @returns the first thing it cannot do; "" = nothing
  std::string first_failure(const std::string& right) {
    cluster_.remove(std::string(kReplicaSets) + "/stuck");
    cluster_.clear();
    cluster_.remove(Cluster::events_path("wrong"));
    cluster_.remove(kLease);
    cluster_.remove(kReplica);
    // Now: the API server takes a while to know it when it admits pods.
    cluster_.ensure("/apis/scheduling.k8s.io/v1/priorityclasses",
                    R"({"apiVersion":"scheduling.k8s.io/v1","kind":"PriorityClass",)"
                    R"("metadata":{"name":"rights"},"value":1000})");
    PodSpec self;
    self.name = "rights";
    self.scheduler = "none";
    self.slot = false;
    cluster_.create("/api/v1/namespaces/tangram-system/pods", pod_json(self));

    ApiProxy proxy("rights");
    if (right.ends_with(" list")) refuse_streaming_lists(proxy);
    PodWatcher watcher(*api_);
    ExtenderProcess extender({.name = "rights-" + std::to_string(++number_),
                              .kubeconfig = proxy.kubeconfig(),
                              .settings = {"leader_election.lease_duration_s=4",
                                           "leader_election.renew_deadline_ms=3000",
                                           "leader_election.retry_period_ms=200",
                                           "bind.timeout_ms=1500", "eviction.after_s=10"},
                              .pod = "rights"});
    extender.start();
    if (!eventually([&] { return extender.ready(); })) return "reads the cluster";
    if (!eventually([&] { return extender.metric("tangram_leader") == 1; })) return "leads";
    const auto labelled = [&] { return has(cluster_.get(kReplica), "tangram.dev/role"); };
    if (!eventually(labelled)) return "labels its pod";
    // Without watch it relists repeatedly, each time later, which works but is slow.
    const std::string log = log_of(extender);
    if (has(log, "poddisruptionbudgets")) return "reads budgets";
    if (has(log, "podgroups.scheduling.k8s.io is forbidden")) return "reads pod groups";
    if (has(log, "cannot watch resource")) return "hears of changes";
    const Process scheduler = start_scheduler({.extender_url = extender.url()});
    return first_failure_at_work(proxy, watcher, extender);
  }

 private:
  std::string first_failure_at_work(ApiProxy& proxy, PodWatcher& watcher,
                                    ExtenderProcess& extender) {
    cluster_.add_nodes({node_with_cards("node", 8)});
    cluster_.add_pods({fraction_pod("first", "0.5")});
    const bool heard = eventually([&] {
      return extender.get("/api/v1/cluster").find("GPU-node-0") != std::string::npos &&
             extender.get("/api/v1/explain?namespace=default&pod=first").find("state") !=
                 std::string::npos;
    });
    if (!heard) return "hears of changes";
    if (!watcher.wait_pod_bound("first", kPatience)) return "binds";
    cluster_.create(kReplicaSets, stuck_replica_set());

    proxy.plan().add({.match = testing::any_binding(),
                      .fault = {.kind = testing::Fault::Kind::kLoseAnswer},
                      .times = 1});
    cluster_.add_pods({fraction_pod("second", "0.5")});
    const auto unknown = [&] { return extender.metric("tangram_binds_total", "unknown"); };
    const auto bound = [&] { return extender.metric("tangram_binds_total", "\"bound\""); };
    if (!eventually([&] { return bound() + unknown() >= 2; })) return "binds twice";
    if (unknown() > 0) return "learns how a bind ended";
    if (extender.metric("tangram_wakes_total", "sent") < 1) return "wakes waiting pods";

    PodSpec wrong = fraction_pod("wrong", "2");
    cluster_.add_pods({wrong});
    if (!eventually(
            [&] { return event_about("wrong").find("RequestInvalid") != std::string::npos; }))
      return "writes events";
    annotate("wrong", "3");
    annotate("wrong", "2");
    if (!eventually([&] { return event_about("wrong").find("\"series\"") != std::string::npos; }))
      return "counts repeated events";
    // Longer than the lease lasts without a renewal.
    watcher.wait([](const SeenPods&) { return false; }, 5s);
    if (extender.metric("tangram_leader") != 1) return "renews the lease";
    const auto evictions = [&](const char* result) {
      return extender.metric("tangram_evictions_total", result);
    };
    if (!eventually([&] { return evictions("evicted") + evictions("failed") > 0; })) {
      return "finds pods that cannot start";
    }
    if (evictions("evicted") == 0) return "evicts pods that cannot start";
    if (!answers_request_of_moves()) return "answers requests of moves";
    return makes_room(watcher, extender) ? "" : "makes room for an urgent pod";
  }

  /// Of one that is for too long a time, which is refused.
  bool answers_request_of_moves() {
    const cluster::MoveRequest request{.id = "rights-" + std::to_string(number_),
                                       .until = SystemClock().wall() + std::chrono::hours(2),
                                       .movers = {"a"},
                                       .waiting = {"b"}};
    const std::string path = cluster::move_requests_path("tangram-system");
    cluster_.patch(path,
                   cluster::move_request_patch(cluster::kRequestKey, cluster::to_json(request)));
    const bool answered = eventually([&] {
      const auto found = cluster::read_move_requests(cluster_.get(path));
      return found && has(found->progress, request.id);
    });
    cluster_.patch(path, cluster::move_request_patch(cluster::kRequestKey, ""));
    return answered;
  }

  /// For a pod that lacks room on one card of a node where more is free in sum.
  bool makes_room(PodWatcher& watcher, ExtenderProcess& extender) {
    NodeSpec pair = node_with_cards("pair", 2);
    pair.labels = {{"pair", "yes"}};
    cluster_.add_nodes({pair});
    const auto on_pair = [](const char* name, const char* fraction) {
      PodSpec pod = fraction_pod(name, fraction);
      pod.node_selector = {{"pair", "yes"}};
      return pod;
    };
    cluster_.add_pods({on_pair("left", "0.6"), on_pair("right", "0.6")});
    for (const char* name : {"left", "right"}) {
      if (!watcher.wait_pod_bound(name, kPatience)) return false;
    }
    PodSpec urgent = on_pair("urgent", "0.8");
    urgent.priority_class = "rights";
    cluster_.add_pods({urgent});
    return eventually(
        [&] { return extender.metric("tangram_card_preemptions_total", "evicted") > 0; });
  }

  /// Its pod is bound without Tangram, so it has no grant.
  static std::string stuck_replica_set() {
    PodSpec pod;
    pod.labels = {{"app", "stuck"}};
    pod.node = "node";
    return R"({"apiVersion":"apps/v1","kind":"ReplicaSet","metadata":{"name":"stuck"},"spec":{"replicas":1,"selector":{"matchLabels":)"
           R"({"app":"stuck"}},"template":)" +
           pod_json(pod) + "}}";
  }

  /// Answers like a server without streaming lists, so that LIST is needed.
  static void refuse_streaming_lists(ApiProxy& proxy) {
    constexpr int kReflectors = 4;
    proxy.plan().add({.match = {.watch = true},
                      .fault = {.kind = testing::Fault::Kind::kAnswer, .status = 422},
                      .times = kReflectors});
  }

  bool eventually(const std::function<bool()>& condition) {
    const auto deadline = TimePoint::clock::now() + kPatience;
    while (!condition()) {
      if (TimePoint::clock::now() > deadline) return false;
      std::this_thread::sleep_for(50ms);  // polls: no event reports the change
    }
    return true;
  }

  static bool has(const std::string& whole, const std::string& text) {
    return whole.find(text) != std::string::npos;
  }

  /// Only the extender's own events.
  std::string event_about(const std::string& pod) {
    Document list;
    list.Parse(cluster_.get(Cluster::events_path(pod)).c_str());
    std::string found;
    for (const Value& event : list["items"].GetArray()) {
      const std::string reporter = event["reportingComponent"].GetString();
      if (reporter.starts_with("tangram.dev/")) found += to_text(event);
    }
    return found;
  }

  /// An event is repeated when the same fault comes back after another one. The pod must stay
  /// invalid meanwhile: else it may be bound.
  void annotate(const std::string& pod, const std::string& fraction) {
    cluster_.patch(Cluster::pod_path(pod), R"({"metadata":{"annotations":)"
                                           R"({"tangram.dev/gpu-fraction":")" +
                                               fraction + "\"}}}");
  }

  [[nodiscard]] static std::string log_of(const ExtenderProcess& extender) {
    std::ifstream file(extender.log());
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
  }

  static constexpr std::chrono::seconds kPatience{8};
  int number_ = 0;
};

TEST_F(RightsTest, AreEnough) { EXPECT_EQ(first_failure(""), ""); }

TEST_F(RightsTest, AreAllNeeded) {
  const auto shipped = shipped_roles(kFile);
  for (const Right& right : shipped_rights(kFile)) {
    const auto breaks = kBreaks.find(right.name);
    ASSERT_NE(breaks, kBreaks.end()) << right.name << ": say here what needs it";
    set(right.without);
    const std::string failure = first_failure(right.name);
    EXPECT_EQ(failure, breaks->second) << "without " << right.name;
    Figures("rights").add("without", "\"" + right.name + "\"").add("breaks", "\"" + failure + "\"");
    for (const Role& role : shipped) set(role);
  }
}

}  // namespace
}  // namespace tangram::e2e
