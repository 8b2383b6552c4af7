// Two replicas: one leads. It is killed, stopped or disconnected, and the other one takes over.

#include "base/rapidjson.hpp"
#include "http/client.hpp"
#include "tests/e2e/api_proxy.hpp"
#include "tests/e2e/service.hpp"
#include "tests/e2e/survival.hpp"

#include <csignal>

namespace tangram::e2e {
namespace {

using testing::Fault;

constexpr const char* kReplicaPods = "/api/v1/namespaces/tangram-system/pods";
constexpr const char* kLeases = "/apis/coordination.k8s.io/v1/namespaces/tangram-system/leases";
constexpr const char* kLease =
    "/apis/coordination.k8s.io/v1/namespaces/tangram-system/leases/tangram-extender";

/// One replica, with its own proxy to the API server and a Pod object to label.
struct Replica {
  explicit Replica(const std::string& name)
      : proxy(name), extender({.name = name, .kubeconfig = proxy.kubeconfig(), .pod = name}) {}
  ApiProxy proxy;
  ExtenderProcess extender;
};

class ReplicaTest : public SurvivalTest {
 protected:
  ReplicaTest() {
    for (auto& [name, replica] : replicas_) {
      PodSpec pod;
      pod.name = name;
      pod.slot = false;
      pod.scheduler = "none";  // it represents a process that already runs
      cluster_.ensure(kReplicaPods, pod_json(pod));
      replica.extender.start_ready();
    }
    service_.emplace(*api_, std::map<std::string, int>{{"a", replicas_.at("a").extender.port()},
                                                       {"b", replicas_.at("b").extender.port()}});
    scheduler_.emplace(start_scheduler({.extender_url = service_->url()}));
  }
  ~ReplicaTest() override {
    for (const auto& [name, replica] : replicas_)
      cluster_.remove(std::string(kReplicaPods) + "/" + name);
  }

  ExtenderProcess& witness() override { return leader().extender; }

  /// Blocks until a replica has the label.
  std::string leader_name() {
    std::string name;
    const auto deadline = TimePoint::clock::now() + 1min;
    while ((name = service_->leader()).empty() && TimePoint::clock::now() < deadline) go_on(50ms);
    return name;
  }
  Replica& leader() { return replicas_.at(leader_name()); }

  /// The scheduler keeps its connections to the old leader open meanwhile.
  void wait_for_new_leader(const std::string& old) {
    const auto begin = TimePoint::clock::now();
    while (leader_name() == old && seconds_between(begin, TimePoint::clock::now()) < 60)
      go_on(50ms);
    ASSERT_TRUE(wait_progress(1, 1min)) << "the new leader binds nothing";
    gaps_.push_back(seconds_between(begin, TimePoint::clock::now()));
  }

  static bool leads(const ExtenderProcess& extender) {
    return extender.metric("tangram_leader") == 1;
  }

  /// Blocks until the other replica leads and `old`, which cannot renew, does not.
  /// @returns whether both led at the same time
  bool both_lead_before(const std::string& old) {
    const ExtenderProcess& leader = replicas_.at(old).extender;
    const ExtenderProcess& other = replicas_.at(old == "a" ? "b" : "a").extender;
    const auto deadline = TimePoint::clock::now() + 1min;
    while (TimePoint::clock::now() < deadline) {
      // In this order: the old leader never leads again.
      const bool other_leads = leads(other);
      const bool old_leads = leads(leader);
      if (other_leads) return old_leads;
      go_on(50ms);
    }
    ADD_FAILURE() << "no other replica leads";
    return false;
  }

  /// "" if there is no Lease.
  std::string lease_holder() {
    kube::Request request;
    request.path = kLease;
    const auto answer = api_->call(request);
    if (!answer || answer->status != 200) return {};
    rapidjson::Document lease;
    lease.Parse(answer->body.c_str());
    return lease["spec"]["holderIdentity"].GetString();
  }

  void report_gaps(const std::string& name) {
    Figures("leader_change").add("name", name).spread("gap_s", gaps_);
  }

  std::map<std::string, Replica> replicas_ = make_replicas();
  std::optional<LeaderService> service_;
  std::optional<Process> scheduler_;
  std::vector<double> gaps_;

  /// The replica can neither read nor write the Lease.
  static testing::FaultScript lose_lease_requests() {
    return {.seed = std::nullopt,
            .rules = {
                {.match = {.path_starts = kLeases}, .fault = {.kind = Fault::Kind::kLoseBefore}}}};
  }

 private:
  static std::map<std::string, Replica> make_replicas() {
    std::map<std::string, Replica> made;
    for (const char* name : {"a", "b"}) made.try_emplace(name, name);
    return made;
  }
};

TEST_F(ReplicaTest, LeaderIsKilled) {
  survive("leader_killed", sized(10, 1), [&] {
    const std::string old = leader_name();
    auto& extender = replicas_.at(old).extender;
    extender.kill();
    wait_for_new_leader(old);
    extender.start_ready();
  });
  report_gaps("killed");
}

TEST_F(ReplicaTest, LeaderIsStopped) {
  const int times = sized(100, 1);
  survive("leader_stopped", times, [&] {
    const std::string old = leader_name();
    auto& extender = replicas_.at(old).extender;
    // Its answer is owed until the client has sent the rest: the port does not close before.
    http::Client slow;
    ASSERT_TRUE(slow.connect("127.0.0.1", static_cast<std::uint16_t>(extender.port())));
    ASSERT_TRUE(slow.request("GET", "/healthz"));
    ASSERT_TRUE(
        slow.send("POST /filter HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n{"));
    extender.process().signal(SIGTERM);
    wait_for_new_leader(old);
    EXPECT_LT(gaps_.back(), 5) << "it kept its Lease while it waited for a client";
    slow = http::Client();
    EXPECT_TRUE(extender.process().terminate());
    extender.start_ready();
  });
  report_gaps("stopped");
  if (times >= 100) {
    EXPECT_LE(percentile(gaps_, 99), 2) << "docs/operations.md says otherwise";
  }
}

TEST_F(ReplicaTest, LeaderIsCutOff) {
  survive("leader_cut_off", sized(5, 1), [&] {
    const std::string old = leader_name();
    auto& server = replicas_.at(old).proxy.server();
    server.pause();
    wait_for_new_leader(old);
    ASSERT_TRUE(server.resume());
  });
  report_gaps("cut_off");
}

TEST_F(ReplicaTest, LeaderCannotRenewButCanStillBind) {
  // The worst case: the old leader's lease expires while it can still read and write pods.
  survive("lease_lost", sized(5, 1), [&] {
    const std::string old = leader_name();
    auto& plan = replicas_.at(old).proxy.plan();
    plan.set(lose_lease_requests());
    wait_for_new_leader(old);
    plan.set({});
  });
  report_gaps("lease_lost");
}

TEST_F(ReplicaTest, LeaseIsDeletedWhileItsHolderCannotRenew) {
  // Then nothing in the API server says that the old leader leads. It still does until its lease
  // would have expired.
  survive("lease_deleted_and_lost", sized(3, 1), [&] {
    const std::string old = leader_name();
    auto& plan = replicas_.at(old).proxy.plan();
    plan.set(lose_lease_requests());
    cluster_.remove(kLease);
    EXPECT_FALSE(both_lead_before(old)) << "replica " << old << " and the other one lead";
    wait_for_new_leader(old);
    plan.set({});
  });
  report_gaps("lease_deleted_and_lost");
}

TEST_F(ReplicaTest, LeaseIsDeleted) {
  survive("lease_deleted", sized(5, 1), [&] {
    const std::string old = leader_name();
    const std::string holder = lease_holder();
    cluster_.remove(kLease);
    const auto begin = TimePoint::clock::now();
    while (lease_holder().empty() && seconds_between(begin, TimePoint::clock::now()) < 60) {
      EXPECT_TRUE(leads(replicas_.at(old).extender));
      go_on(50ms);
    }
    gaps_.push_back(seconds_between(begin, TimePoint::clock::now()));
    EXPECT_EQ(lease_holder(), holder) << "its holder makes it again";
    EXPECT_EQ(leader_name(), old);
    ASSERT_TRUE(wait_progress(1, 1min)) << "the leader binds nothing";
  });
  report_gaps("lease_deleted");
}

}  // namespace
}  // namespace tangram::e2e
