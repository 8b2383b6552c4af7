#include "tests/extender/app_rig.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <mutex>
#include <set>
#include <thread>

namespace tangram::extender {
namespace {

using testing::eventually;
using testing::json_at;

constexpr int kPods = 200;   // of a tenth of a card
constexpr int kRoom = 80;    // 8 cards x 10
constexpr int kClients = 8;  // kube-scheduler binds from as many goroutines as there are pods

/// 200 pods of 0.1 wait for two nodes of four cards.
class AppConcurrencyTest : public ::testing::Test {
 protected:
  AppConcurrencyTest() {
    for (const char* node : {"a", "b"}) cluster_.add_node(node, 4);
    uids_.reserve(kPods);
    for (int i = 0; i < kPods; ++i) uids_.push_back(cluster_.add_pod(name(i), "0.1"));
  }
  static std::string name(int i) { return "p" + std::to_string(i); }

  /// As kube-scheduler does: filter, bind to the best, and anew if that fails.
  /// @returns whether the pod was bound; false also if the service does not answer any more
  bool schedule(Caller& caller, int pod) {
    while (cluster_.pod(name(pod)).node.empty()) {
      const auto filtered =
          caller.post("/filter", filter_body(cluster_, name(pod), R"(["a","b"])"));
      if (filtered.status != 200) return false;
      const std::string nodes = json_at(filtered.body, "NodeNames");
      if (!nodes.starts_with("[\"")) return false;
      const std::string error =
          caller.bind(name(pod), uids_.at(static_cast<std::size_t>(pod)), nodes.substr(2, 1));
      if (error.empty()) return true;
      if (error.starts_with("0 ")) return false;
    }
    return false;
  }

  /// Schedules all pods from many connections at once. @returns how many were answered as bound
  int schedule_all(App& app) {
    std::atomic<int> next{0};
    std::atomic<int> bound{0};
    std::vector<std::jthread> clients;
    clients.reserve(kClients);
    for (int c = 0; c < kClients; ++c) {
      clients.emplace_back([&, port = app.port()] {
        Caller caller(port);
        for (int pod = next++; pod < kPods; pod = next++) {
          if (schedule(caller, pod)) note_bound(pod, ++bound);
        }
      });
    }
    clients.clear();
    return bound;
  }

  void note_bound(int pod, int count) {
    {
      const std::scoped_lock lock(mutex_);
      answered_bound_.insert(pod);
    }
    if (count == stop_after_) stop_now_ = true;
  }

  /// What the API server says, added up without the ledger. @returns pods with a node
  int check_api_server() {
    int bound = 0;
    std::map<std::string, std::int64_t> milli;
    for (int i = 0; i < kPods; ++i) {
      const kube::Pod pod = cluster_.pod(name(i));
      const bool answered = answered_bound_.contains(i);
      EXPECT_TRUE(!answered || !pod.node.empty())
          << pod.name << " was answered as bound and is not";
      if (pod.node.empty()) continue;
      ++bound;
      const auto grant = model::decode_grant(pod.annotations.at("gpu-grant"));
      if (!grant) {
        ADD_FAILURE() << grant.error().message;
        continue;
      }
      EXPECT_EQ(grant->pod_uid, pod.uid);
      EXPECT_EQ(grant->node, pod.node);
      for (const auto& container : grant->containers) {
        for (const auto& card : container.cards) milli[card.uuid] += card.compute.count();
      }
    }
    for (const auto& [card, sum] : milli) EXPECT_LE(sum, 1'000) << card;
    return bound;
  }

  Cluster cluster_;
  std::vector<std::string> uids_;
  std::mutex mutex_;
  std::set<int> answered_bound_;
  int stop_after_ = 0;
  std::atomic<bool> stop_now_{false};
};

TEST_F(AppConcurrencyTest, FillsEveryCardAndNoneTwice) {
  const auto app = start_synced(cluster_);
  EXPECT_EQ(schedule_all(*app), kRoom);
  EXPECT_EQ(check_api_server(), kRoom);
  for (const char* node : {"a", "b"}) {
    const cluster::ClusterPtr ledger = app->ledger().snapshot();
    for (const model::CardUse& use : ledger->find(node)->use) {
      EXPECT_EQ(use.compute, MilliGpu(1'000));
      EXPECT_EQ(use.sharer_count(), 10);
    }
  }
}

TEST_F(AppConcurrencyTest, HasTheSameBooksInAServiceStartedAnew) {
  const auto app = start_synced(cluster_);
  EXPECT_EQ(schedule_all(*app), kRoom);
  const auto second = start_synced(cluster_);
  EXPECT_EQ(testing::picture_of(*second->ledger().snapshot()),
            testing::picture_of(*app->ledger().snapshot()));
  // Once its own watch has shown every bind, the first one still has the same.
  ASSERT_TRUE(eventually([&] { return app->pods().pending_count() == kPods - kRoom; }));
  EXPECT_EQ(testing::picture_of(*second->ledger().snapshot()),
            testing::picture_of(*app->ledger().snapshot()));
}

TEST_F(AppConcurrencyTest, LosesNothingWhenItIsStoppedAmidBinds) {
  stop_after_ = kRoom / 4;
  auto app = start_synced(cluster_);
  std::jthread stopper([&] {
    if (eventually([&] { return stop_now_.load(); })) app->stop();
  });
  EXPECT_GE(schedule_all(*app), stop_after_);
  stopper.join();
  const std::string last_ledger = testing::picture_of(*app->ledger().snapshot());
  app.reset();
  const int bound = check_api_server();
  EXPECT_GE(bound, stop_after_);
  EXPECT_LE(bound, kRoom);
  stop_after_ = 0;
  const auto second = start_synced(cluster_);
  EXPECT_EQ(testing::picture_of(*second->ledger().snapshot()), last_ledger);
  // Pods that are bound already are answered so; the rest fills the cards.
  schedule_all(*second);
  EXPECT_EQ(check_api_server(), kRoom);
}

}  // namespace
}  // namespace tangram::extender
