#include "node/publish/own_node.hpp"

#include "base/json_members.hpp"
#include "base/split.hpp"
#include "kube/client.hpp"
#include "kube/url.hpp"
#include "model/annotations.hpp"
#include "node/pods/pod_requests.hpp"
#include "node/publish/other_plugins.hpp"

#include <utility>

namespace tangram::node {

namespace {

/// Of Node Feature Discovery; each of its instances puts its name before it.
constexpr std::string_view kDiscovered = "nfd.node.kubernetes.io/feature-labels";

bool is_read(std::string_view annotation) {
  return annotation == model::kCardsAnnotation || annotation == model::kResizesAnnotation ||
         annotation == model::kCordonAnnotation || annotation == model::kDrainAnnotation ||
         annotation == kWrittenLabels || annotation.ends_with(kDiscovered);
}

void read_annotation(json::Reader& in, std::string_view name, OwnNode& node) {
  const std::string_view text = in.string_or_null();
  if (name == model::kCardsAnnotation) {
    node.cards = text;
  } else if (name == model::kResizesAnnotation) {
    node.resizes = text;
  } else if (name == model::kCordonAnnotation) {
    node.cordon = text;
  } else if (name == model::kDrainAnnotation) {
    node.drain = text;
  } else if (name == kWrittenLabels) {
    node.written_labels = text;
  } else {
    for (std::string& label : split(text, ',')) node.discovered.insert(std::move(label));
  }
}

void read_label(json::Reader& in, std::string_view name, OwnNode& node) {
  const std::string_view text = in.string_or_null();
  if (name == model::kGpuLabel) {
    node.gpu_label = text;
  } else if (name == model::kModelLabel) {
    node.model_label = text;
  } else if (name == kSharingLabel) {
    node.sharing_choice = text;
  } else if (name == kPoolLabel) {
    node.pool = text;
  } else {
    node.labels.insert_or_assign(std::string(name), text);
  }
}

void read_metadata(json::Reader& in, OwnNode& node) {
  const auto annotations = [&](json::Reader&) {
    in.object([&](std::string_view name) {
      is_read(name) ? read_annotation(in, name, node) : in.skip();
    });
  };
  const auto labels = [&](json::Reader&) {
    in.object([&](std::string_view name) { read_label(in, name, node); });
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
           {{"name"}, {"uid"}, {"resourceVersion"}, {"annotations", {}, is_read}, {"labels"}}},
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
