#include "bench/cluster_calls.hpp"

#include "base/json_members.hpp"
#include "kube/client.hpp"

#include <string_view>
#include <utility>

namespace tangram::bench {

Result<std::string> call(kube::KubeApi& api, const kube::Request& request, int expected) {
  auto response = api.call(request);
  if (!response) return response.error();
  if (response->status != expected) {
    return fail(Errc::kConflict, std::string(kube::to_string(request.method)) + " " + request.path +
                                     ": " + kube::status_message(*response));
  }
  return std::move(response->body);
}

Result<std::vector<std::string>> list(kube::KubeApi& api, const std::string& path) {
  auto text = call(api, {.path = path}, 200);
  if (!text) return text.error();
  const std::string original = *text;
  std::vector<std::string> objects;
  json::Reader in(*text);
  const auto read_item = [&](json::Reader& item) {
    const json::Reader::Span span = item.span();
    item.skip();
    return original.substr(span.begin, span.end - span.begin);
  };
  json::read_members(in, "items", json::each(objects, read_item));
  if (auto done = in.finish(); !done) return done.error();
  return objects;
}

namespace {

Result<void> discard(const Result<std::string>& body) {
  if (!body) return body.error();
  return {};
}

}  // namespace

Result<void> create_node(kube::KubeApi& api, const model::NodeInventory& node) {
  return discard(call(
      api, {.method = kube::Method::kPost, .path = "/api/v1/nodes", .body = node_json(node)}, 201));
}

Result<void> publish_cards(kube::KubeApi& api, const model::NodeInventory& node) {
  return discard(call(api,
                      {.method = kube::Method::kPatch,
                       .path = "/api/v1/nodes/" + node.name,
                       .body = cards_patch(node),
                       .content_type = "application/merge-patch+json"},
                      200));
}

Result<std::string> create_pod(kube::KubeApi& api, const std::string& ns, const std::string& json) {
  const std::string path = "/api/v1/namespaces/" + ns + "/pods";
  return call(api, {.method = kube::Method::kPost, .path = path, .body = json}, 201);
}

Result<void> delete_pod(kube::KubeApi& api, const std::string& ns, const std::string& name) {
  return discard(call(api,
                      {.method = kube::Method::kDelete,
                       .path = kube::pod_path(ns, name),
                       .query = {{"gracePeriodSeconds", "0"}}},
                      200));
}

}  // namespace tangram::bench
