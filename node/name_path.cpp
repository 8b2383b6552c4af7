#include "node/name_path.hpp"

#include "base/file.hpp"
#include "base/json.hpp"
#include "base/quote.hpp"
#include "kube/client.hpp"
#include "node/container/cdi_spec.hpp"

#include <spdlog/spdlog.h>

#include <chrono>
#include <utility>

namespace tangram::node {
namespace {

constexpr std::chrono::milliseconds kReadLimit{10'000};

/// "1.31.2" of "v1.31.2+k3s1"; empty = no version.
std::string_view version_number(std::string_view text) {
  if (text.starts_with('v')) text.remove_prefix(1);
  const auto end = text.find_first_not_of("0123456789.");
  return text.substr(0, end);
}

bool has_cdi(std::string_view runtime) {
  const auto at = runtime.find("://");
  if (at == std::string_view::npos) return false;
  const std::string_view name = runtime.substr(0, at);
  const std::string_view version = version_number(runtime.substr(at + 3));
  return (name == "containerd" && !older_version(version, "1.7")) ||
         (name == "cri-o" && !older_version(version, "1.23"));
}

}  // namespace

Result<NodeSoftware> read_node_software(kube::KubeApi& api, std::string_view node) {
  auto response = api.call({.method = kube::Method::kGet,
                            .path = "/api/v1/nodes/" + std::string(node),
                            .query = {},
                            .body = {},
                            .timeout = kReadLimit});
  if (!response) return fail(Errc::kUnavailable, response.error().message);
  if (response->status != 200) return fail(Errc::kUnavailable, kube::status_message(*response));
  NodeSoftware software;
  json::Reader in(response->body);
  in.object([&](std::string_view key) {
    if (key != "status") return in.skip();
    in.object([&](std::string_view member) {
      if (member != "nodeInfo") return in.skip();
      in.object([&](std::string_view fact) {
        if (fact == "kubeletVersion") {
          software.kubelet = in.string();
        } else if (fact == "containerRuntimeVersion") {
          software.runtime = in.string();
        } else {
          in.skip();
        }
      });
    });
  });
  if (auto done = in.finish(); !done) return fail(Errc::kUnavailable, done.error().message);
  if (software.kubelet.empty()) {
    return fail(Errc::kUnavailable, "the Node has no kubelet version yet");
  }
  return software;
}

Result<NamePath> choose_name_path(const NodeSoftware& software, const VendorRuntime& vendor,
                                  bool has_vendor_specs) {
  if (has_cdi(software.runtime)) {
    return older_version(version_number(software.kubelet), "1.29") ? NamePath::kCdiAnnotation
                                                                   : NamePath::kCdiDevices;
  }
  if (has_vendor_specs) return NamePath::kEnvironment;
  return fail(Errc::kInvalidArgument,
              "the container runtime " + quote(software.runtime) +
                  " has no CDI: use containerd 1.7 or newer with enable_cdi = true, or CRI-O 1.23 "
                  "or newer; or " +
                  std::string(vendor.setup) + ", and start the agent with --device-ids-by=env");
}

Result<NamePath> find_name_path(const Settings& settings, kube::KubeApi& api, bool reachable) {
  if (settings.name_path) return *settings.name_path;
  const std::string file = settings.state_dir + "/device-ids-by";
  const auto text = read_file(file);
  const auto stored = parse_name_path(text ? std::string_view{*text} : std::string_view{});
  if (!reachable && stored) return *stored;
  const auto software = read_node_software(api, settings.node);
  if (!software && stored) return *stored;
  if (!software) return software.error();
  auto chosen = choose_name_path(*software, settings.vendor->facts().runtime,
                                 settings.vendor->has_cdi_specs());
  if (!chosen) return chosen;
  if (auto written = replace_file(file, to_string(*chosen)); !written) {
    spdlog::warn("{}", written.error().message);
  }
  return chosen;
}

}  // namespace tangram::node
