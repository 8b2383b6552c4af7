#include "bench/cluster_calls.hpp"

#include "base/json.hpp"
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
  auto text = call(api, {.path = path, .query = {}, .body = {}}, 200);
  if (!text) return text.error();
  const std::string original = *text;
  std::vector<std::string> objects;
  json::Reader in(*text);
  in.object([&](std::string_view key) {
    if (key != "items") return in.skip();
    in.array([&] {
      const json::Reader::Span span = in.span();
      objects.push_back(original.substr(span.begin, span.end - span.begin));
      in.skip();
    });
  });
  if (auto done = in.finish(); !done) return done.error();
  return objects;
}

Result<void> create_node(kube::KubeApi& api, const model::NodeInventory& node) {
  const auto created = call(api,
                            {.method = kube::Method::kPost,
                             .path = "/api/v1/nodes",
                             .query = {},
                             .body = node_json(node)},
                            201);
  if (!created) return created.error();
  return {};
}

Result<std::string> create_pod(kube::KubeApi& api, const std::string& ns, const std::string& json) {
  return call(api,
              {.method = kube::Method::kPost,
               .path = "/api/v1/namespaces/" + ns + "/pods",
               .query = {},
               .body = json},
              201);
}

Result<void> delete_pod(kube::KubeApi& api, const std::string& ns, const std::string& name) {
  const auto deleted = call(api,
                            {.method = kube::Method::kDelete,
                             .path = kube::pod_path(ns, name),
                             .query = {{"gracePeriodSeconds", "0"}},
                             .body = {}},
                            200);
  if (!deleted) return deleted.error();
  return {};
}

}  // namespace tangram::bench
