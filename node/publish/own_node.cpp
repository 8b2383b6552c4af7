#include "node/publish/own_node.hpp"

#include "base/json.hpp"
#include "kube/client.hpp"
#include "kube/url.hpp"
#include "model/annotations.hpp"
#include "node/pods/pod_requests.hpp"

#include <utility>

namespace tangram::node {

namespace {

void read_annotations(json::Reader& in, OwnNode& node) {
  in.object([&](std::string_view key) {
    if (key == model::kCardsAnnotation) {
      node.cards = in.string_or_null();
    } else if (key == model::kCordonAnnotation) {
      node.cordon = in.string_or_null();
    } else {
      in.skip();
    }
  });
}

void read_labels(json::Reader& in, OwnNode& node) {
  in.object([&](std::string_view key) {
    if (key == model::kGpuLabel) {
      node.gpu_label = in.string_or_null();
    } else if (key == model::kModelLabel) {
      node.model_label = in.string_or_null();
    } else {
      in.skip();
    }
  });
}

void read_metadata(json::Reader& in, OwnNode& node) {
  in.object([&](std::string_view key) {
    if (key == "name") {
      node.name = in.string_or_null();
    } else if (key == "uid") {
      node.uid = in.string_or_null();
    } else if (key == "resourceVersion") {
      node.version = in.string_or_null();
    } else if (key == "annotations") {
      read_annotations(in, node);
    } else if (key == "labels") {
      read_labels(in, node);
    } else {
      in.skip();
    }
  });
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

void read_status(json::Reader& in, OwnNode& node) {
  in.object([&](std::string_view key) {
    if (key != "capacity") return in.skip();
    read_capacity(in, node);
  });
}

}  // namespace

Result<OwnNode> decode_own_node(std::string text) {
  json::Reader in(text);
  OwnNode node;
  in.object([&](std::string_view key) {
    if (key == "metadata") {
      read_metadata(in, node);
    } else if (key == "status") {
      read_status(in, node);
    } else {
      in.skip();
    }
  });
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
