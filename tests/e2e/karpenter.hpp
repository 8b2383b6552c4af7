#pragma once

#include "kube/api.hpp"
#include "tests/e2e/process.hpp"

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>

namespace tangram::e2e {

/// The instance types of the tests' Karpenter: one without cards, which is cheaper, and one with
/// this many. Only a NodeOverlay tells Karpenter of the cards.
inline constexpr int kCardsOfInstance = 4;

/// Karpenter with its kwok provider, one NodePool and one NodeOverlay. Its nodes are objects
/// without machines. The destructor removes them.
/// A failed start throws std::runtime_error with the end of Karpenter's log.
class Karpenter {
 public:
  Karpenter();
  ~Karpenter();
  Karpenter(const Karpenter&) = delete;
  Karpenter& operator=(const Karpenter&) = delete;

 private:
  void start();
  static void wait_ready(const std::string& object);

  std::optional<Process> process_;
};

/// Kubelet and Tangram's agent of the nodes that Karpenter makes: reports new ones as ready, and
/// publishes kCardsOfInstance cards for each.
class StandInNodes {
 public:
  StandInNodes();

  /// Blocks until the cluster has exactly that many nodes. @returns false if that takes longer
  bool wait_count(int count, std::chrono::milliseconds limit);
  /// Nodes that exist.
  [[nodiscard]] int count() const;
  /// Nodes that ever existed.
  [[nodiscard]] int made() const;

 private:
  void run(const std::stop_token& stop);
  void look();
  void publish(const std::string& name);
  /// @returns the object; nothing if the API server refused
  std::optional<std::string> patch(const std::string& path, const std::string& body);

  std::unique_ptr<kube::KubeApi> api_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  int count_ = 0;
  std::set<std::string> made_;
  std::jthread thread_;
};

}  // namespace tangram::e2e
