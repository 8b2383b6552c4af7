#include "tests/e2e/cluster.hpp"

#include <atomic>
#include <stdexcept>
#include <thread>

namespace tangram::e2e {

namespace {

using kube::Method;
using kube::Request;

constexpr std::string_view kNodes = "/api/v1/nodes";
constexpr std::string_view kPods = "/api/v1/namespaces/default/pods";
constexpr std::string_view kMergePatch = "application/merge-patch+json";

// With more threads, the API server queues requests; it runs on the same cores.
constexpr int kThreads = 16;
// Deleting thousands of objects in one request takes the API server seconds.
constexpr std::chrono::seconds kPatience{120};

Request request(Method method, std::string path, std::string body = {}) {
  Request made;
  made.method = method;
  made.path = std::move(path);
  made.body = std::move(body);
  made.timeout = kPatience;
  return made;
}

Request at_once(Request made) {
  made.query["gracePeriodSeconds"] = "0";  // no kubelet runs to end the pods
  return made;
}

std::string node_path(const std::string& name) { return std::string(kNodes) + "/" + name; }

}  // namespace

void in_parallel(int count, const std::function<void(int)>& work) {
  std::atomic<int> next{0};
  std::exception_ptr failure;
  std::mutex failure_mutex;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < std::min(count, kThreads); ++t) {
      threads.emplace_back([&] {
        try {
          for (int i = next++; i < count; i = next++) work(i);
        } catch (...) {
          const std::scoped_lock lock(failure_mutex);
          failure = std::current_exception();
          next = count;
        }
      });
    }
  }
  if (failure) std::rethrow_exception(failure);
}

std::string Cluster::send(const Request& request, int accepted_status) {
  const auto answer = api_.call(request);
  const std::string what = std::string(to_string(request.method)) + " " + request.path + ": ";
  if (!answer) throw std::runtime_error(what + answer.error().message);
  if (answer->status >= 300 && answer->status != accepted_status) {
    throw std::runtime_error(what + std::to_string(answer->status) + " " + answer->body);
  }
  return answer->body;
}

void Cluster::clear() {
  clear_pods();
  remove_all(std::string(kNodes));
  remove_all("/api/v1/namespaces/default/persistentvolumeclaims");
  remove_all("/apis/policy/v1/namespaces/default/poddisruptionbudgets");
}

void Cluster::clear_pods() { remove_all(std::string(kPods)); }

void Cluster::remove_all(const std::string& path) { send(at_once(request(Method::kDelete, path))); }

void Cluster::add_nodes(const std::vector<NodeSpec>& nodes) {
  in_parallel(static_cast<int>(nodes.size()), [&](int i) {
    const auto& node = nodes[static_cast<std::size_t>(i)];
    create(std::string(kNodes), node_json(node));
    // Admission taints every new node until the node lifecycle controller, which does not run
    // here, sees it ready.
    patch(node_path(node.name), R"({"spec":{"taints":null}})");
  });
}

void Cluster::add_pods(const std::vector<PodSpec>& pods) {
  in_parallel(static_cast<int>(pods.size()), [&](int i) {
    create(std::string(kPods), pod_json(pods[static_cast<std::size_t>(i)]));
  });
}

void Cluster::delete_pod(const std::string& name) {
  send(at_once(request(Method::kDelete, pod_path(name))), 404);
}
void Cluster::delete_node(const std::string& name) { remove(node_path(name)); }

void Cluster::set_cards(const std::string& node, const std::vector<CardSpec>& cards) {
  std::string quoted;
  for (const char c : cards_json(cards)) quoted += c == '"' ? "\\\"" : std::string(1, c);
  patch(node_path(node), R"({"metadata":{"annotations":{"tangram.dev/cards":")" + quoted + "\"}}}");
}

std::string Cluster::get(const std::string& path) { return send(request(Method::kGet, path)); }

void Cluster::create(const std::string& path, const std::string& body) {
  send(request(Method::kPost, path, body));
}

void Cluster::ensure(const std::string& path, const std::string& body) {
  send(request(Method::kPost, path, body), 409);
}

void Cluster::patch(const std::string& path, const std::string& merge_patch) {
  auto made = request(Method::kPatch, path, merge_patch);
  made.content_type = kMergePatch;
  send(made);
}

void Cluster::remove(const std::string& path) { send(request(Method::kDelete, path), 404); }

std::string Cluster::pod_path(const std::string& name) { return std::string(kPods) + "/" + name; }

std::string Cluster::events_path(const std::string& pod) {
  return "/api/v1/namespaces/default/events?fieldSelector=involvedObject.name=" + pod;
}

}  // namespace tangram::e2e
