#include "node/publish/own_node.hpp"

#include "base/json_members.hpp"
#include "kube/client.hpp"
#include "kube/url.hpp"
#include "model/annotations.hpp"
#include "node/pods/pod_requests.hpp"
#include "node/publish/other_plugins.hpp"

#include <utility>

namespace tangram::node {

namespace {

/// Reads a text that may be missing.
auto optional_text(std::optional<std::string>& into) {
  return [&into](json::Reader& in) { into = in.string_or_null(); };
}

void read_metadata(json::Reader& in, OwnNode& node) {
  const auto annotations = [&](json::Reader&) {
    json::read_members(in, model::kCardsAnnotation, optional_text(node.cards),
                       model::kResizesAnnotation, optional_text(node.resizes),
                       model::kCordonAnnotation, node.cordon);
  };
  const auto labels = [&](json::Reader&) {
    json::read_members(in, model::kGpuLabel, optional_text(node.gpu_label), model::kModelLabel,
                       optional_text(node.model_label), kSharingLabel, node.sharing_choice,
                       kPoolLabel, node.pool);
  };
  json::read_members(in, "name", node.name, "uid", node.uid, "resourceVersion", node.version,
                     "annotations", annotations, "labels", labels);
}

std::optional<KubeQuantity> read_quantity(json::Reader& in) {
  const std::string text = in.scalar_text();
  if (in.failed()) return std::nullopt;
  const auto quantity = KubeQuantity::parse(text);
  if (quantity) return *quantity;
  in.fail(quantity.error().message);
  return std::nullopt;
}

void read_capacity(json::Reader& in, OwnNode& node) {
  in.object([&](std::string_view name) {
    if (name == kMilliResource) {
      node.milli = read_quantity(in);
    } else if (name == kMemoryResource) {
      node.memory = read_quantity(in);
    } else if (is_other_plugins_gpu(name)) {
      const auto count = read_quantity(in);
      if (count && !count->is_zero()) node.foreign.emplace(name);
    } else {
      in.skip();
    }
  });
}

}  // namespace

Result<OwnNode> decode_own_node(std::string text) {
  static const json::Outline kOutline{
      .members = {
          {"metadata",
           {{"name"},
            {"uid"},
            {"resourceVersion"},
            {"annotations",
             {{model::kCardsAnnotation}, {model::kResizesAnnotation}, {model::kCordonAnnotation}}},
            {"labels", {{model::kGpuLabel}, {model::kModelLabel}, {kSharingLabel}}}}},
          {"status",
           {{"capacity"}, {"nodeInfo", {{"kubeletVersion"}, {"containerRuntimeVersion"}}}}}}};
  json::Reader in(text, kOutline);
  OwnNode node;
  const auto metadata = [&](json::Reader&) { read_metadata(in, node); };
  const auto capacity = [&](json::Reader&) { read_capacity(in, node); };
  const auto software = [&](json::Reader&) {
    json::read_members(in, "kubeletVersion", node.software.kubelet, "containerRuntimeVersion",
                       node.software.runtime);
  };
  const auto status = [&](json::Reader&) {
    json::read_members(in, "capacity", capacity, "nodeInfo", software);
  };
  json::read_members(in, "metadata", metadata, "status", status);
  if (auto done = in.finish(); !done) return done.error();
  if (node.name.empty()) return fail(Errc::kInvalidArgument, "metadata.name: missing");
  if (node.uid.empty()) return fail(Errc::kInvalidArgument, "metadata.uid: missing");
  return node;
}

Result<OwnNode> read_own_node(kube::KubeApi& api, std::string_view name,
                              std::chrono::milliseconds timeout) {
  kube::Request request;
  request.path = "/api/v1/nodes/" + kube::percent_encode(name);
  request.timeout = timeout;
  auto response = api.call(request);
  const std::string what = "read node " + std::string(name) + ": ";
  if (!response) return fail(Errc::kUnavailable, what + response.error().message);
  if (response->status != 200) {
    return fail(response->status == 404 ? Errc::kNotFound : Errc::kUnavailable,
                what + std::to_string(response->status) + ": " + kube::status_message(*response));
  }
  auto node = decode_own_node(std::move(response->body));
  if (!node) return fail(Errc::kUnavailable, what + node.error().message);
  return node;
}

bool is_newer(std::string_view version, std::string_view than) {
  if (version.size() != than.size()) return version.size() > than.size();
  return version > than;
}

}  // namespace tangram::node
