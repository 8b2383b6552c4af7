// Two replicas: one leads. It is killed, stopped or disconnected, and the other one takes over.

#include "tests/e2e/api_proxy.hpp"
#include "tests/e2e/service.hpp"
#include "tests/e2e/survival.hpp"

namespace tangram::e2e {
namespace {

using testing::Fault;

constexpr const char* kReplicaPods = "/api/v1/namespaces/tangram-system/pods";

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

  void report_gaps(const std::string& name) {
    Figures("leader_change").add("name", name).spread("gap_s", gaps_);
  }

  std::map<std::string, Replica> replicas_ = make_replicas();
  std::optional<LeaderService> service_;
  std::optional<Process> scheduler_;
  std::vector<double> gaps_;

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
  survive("leader_stopped", sized(10, 1), [&] {
    const std::string old = leader_name();
    auto& extender = replicas_.at(old).extender;
    EXPECT_TRUE(extender.process().terminate());
    wait_for_new_leader(old);
    extender.start_ready();
  });
  report_gaps("stopped");
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
    plan.set({.seed = std::nullopt,
              .rules = {{.match = {.path_ends = "/leases/tangram-extender"},
                         .fault = {.kind = Fault::Kind::kLoseBefore}}}});
    wait_for_new_leader(old);
    plan.set({});
  });
  report_gaps("lease_lost");
}

}  // namespace
}  // namespace tangram::e2e
