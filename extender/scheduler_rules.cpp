#include "extender/scheduler_rules.hpp"

#include "kube/client.hpp"

#include <utility>

namespace tangram::extender {

namespace {

constexpr int kOk = 200;
constexpr int kForbidden = 403;
constexpr int kNotFound = 404;
constexpr int kPageSize = 500;

Errc meaning_of(int status) {
  if (status == kForbidden) return Errc::kConflict;
  return status == kNotFound ? Errc::kNotFound : Errc::kUnavailable;
}

}  // namespace

Result<RuledPod> read_ruled_pod(kube::KubeApi& api, const cluster::PodName& pod,
                                std::chrono::milliseconds timeout) {
  const std::string path = kube::pod_path(pod.ns, pod.name);
  auto response = api.call({.path = path, .query = {}, .body = {}, .timeout = timeout});
  if (!response) return response.error();
  if (response->status != kOk) {
    return fail(meaning_of(response->status), path + ": " + kube::status_message(*response));
  }
  auto rules = cluster::read_pod_rules(response->body);
  if (!rules) return rules.error();
  auto decoded = kube::decode_pod(std::move(response->body));
  if (!decoded) return decoded.error();
  if (decoded->uid != pod.uid) return fail(Errc::kNotFound, "it was deleted and made anew");
  return RuledPod{*std::move(decoded), *std::move(rules)};
}

Result<NodeRulesByName> list_node_rules(kube::KubeApi& api, std::chrono::milliseconds timeout) {
  NodeRulesByName nodes;
  // In pages, so not by resourceVersion 0, with which the API server sends all at once.
  const auto listed =
      list_objects(api, {.path = "/api/v1/nodes", .query = {}, .body = {}, .timeout = timeout},
                   [&](std::string_view object) {
                     auto node = kube::decode_node(std::string(object));
                     auto rules = cluster::read_node_rules(std::string(object));
                     if (node && rules) nodes.insert_or_assign(node->name, *std::move(rules));
                   });
  if (!listed) return listed.error();
  return nodes;
}

Result<cluster::NodeRules> read_node_rules(kube::KubeApi& api, const std::string& node,
                                           std::chrono::milliseconds timeout) {
  Result<cluster::NodeRules> rules = fail(Errc::kNotFound, "node " + node + " is gone");
  const auto listed = list_objects(
      api,
      {.path = "/api/v1/nodes",
       .query = {{"fieldSelector", "metadata.name=" + node}},
       .body = {},
       .timeout = timeout},
      [&](std::string_view object) { rules = cluster::read_node_rules(std::string(object)); });
  if (!listed) return listed.error();
  return rules;
}

Result<void> list_objects(kube::KubeApi& api, const kube::Request& request,
                          const kube::ListPages::Item& item) {
  kube::ListPages pages(api, request, kPageSize);
  while (!pages.ended()) {
    const auto response = pages.next(item);
    if (!response) return response.error();
    if (response->status != kOk) {
      return fail(Errc::kUnavailable, request.path + ": " + kube::status_message(*response));
    }
  }
  return {};
}

}  // namespace tangram::extender
