#pragma once

#include "base/result.hpp"
#include "kube/api.hpp"
#include "tests/e2e/objects.hpp"

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace tangram::e2e {

/// The namespace of the tests' pods.
inline constexpr std::string_view kNamespace = "default";

/// Runs work(0) … work(count - 1) on some threads; the API server handles many requests at a time.
void in_parallel(int count, const std::function<void(int)>& work);

/// What the tests do to the cluster, as its administrator.
/// Errors throw std::runtime_error with the server's message: a test needs its setup.
/// Threads: safe.
class Cluster {
 public:
  explicit Cluster(kube::KubeApi& api) : api_(api) {}
  [[nodiscard]] kube::KubeApi& api() { return api_; }

  /// Deletes all pods, nodes, claims and budgets, so that none of an earlier test is left.
  void clear();

  void clear_pods();

  void add_nodes(const std::vector<NodeSpec>& nodes);
  void add_pods(const std::vector<PodSpec>& pods);
  void delete_pod(const std::string& name);
  void delete_node(const std::string& name);
  void set_cards(const std::string& node, const std::vector<CardSpec>& cards);

  std::string get(const std::string& path);
  void create(const std::string& path, const std::string& body);
  /// Not an error if the object already exists.
  void ensure(const std::string& path, const std::string& body);
  void patch(const std::string& path, const std::string& merge_patch);
  void remove(const std::string& path);
  [[nodiscard]] static std::string pod_path(const std::string& name);
  /// The events about one pod. Those of the whole namespace may be more than one answer holds.
  [[nodiscard]] static std::string events_path(const std::string& pod);

 private:
  std::string send(const kube::Request& request, int accepted_status = 0);
  void remove_all(const std::string& path);

  kube::KubeApi& api_;
};

}  // namespace tangram::e2e
