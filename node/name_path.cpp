#include "node/name_path.hpp"

#include "base/file.hpp"
#include "base/quote.hpp"
#include "node/container/cdi_spec.hpp"

#include <spdlog/spdlog.h>

namespace tangram::node {
namespace {

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

/// Kubelet writes this while the runtime does not answer: "containerd://Unknown".
bool is_down(std::string_view runtime) { return runtime.ends_with("://Unknown"); }

}  // namespace

Result<NamePath> choose_name_path(const NodeSoftware& software, const VendorRuntime& vendor) {
  if (has_cdi(software.runtime)) {
    return older_version(version_number(software.kubelet), "1.29") ? NamePath::kCdiAnnotation
                                                                   : NamePath::kCdiDevices;
  }
  const std::string by_variable = "; or, in a cluster without Tangram's webhook, " +
                                  std::string(vendor.setup) +
                                  ", and start the agent with --device-ids-by=env";
  return fail(Errc::kInvalidArgument,
              "the container runtime " + quote(software.runtime) +
                  " has no CDI: use containerd 1.7 or newer with enable_cdi = true, or CRI-O 1.23 "
                  "or newer" +
                  (vendor.takes_names ? by_variable : ""));
}

Result<NamePath> find_name_path(const Settings& settings, const Result<OwnNode>& node) {
  const VendorRuntime& runtime = settings.vendor->facts().runtime;
  if (settings.name_path == NamePath::kEnvironment && !runtime.takes_names) {
    return fail(Errc::kInvalidArgument,
                "--device-ids-by=env is not for these cards: no runtime takes names of CDI devices "
                "in " +
                    std::string(runtime.variable) + "; write auto");
  }
  if (settings.name_path) return *settings.name_path;
  const std::string file = settings.state_dir + "/device-ids-by";
  const auto text = read_file(file);
  const auto stored = parse_name_path(text ? std::string_view{*text} : std::string_view{});
  const bool known = node && !node->software.kubelet.empty() && !is_down(node->software.runtime);
  if (!known && stored) return *stored;
  if (!node) return node.error();
  if (!known) return fail(Errc::kUnavailable, "the Node has no version of kubelet or runtime yet");
  auto chosen = choose_name_path(node->software, runtime);
  if (!chosen) return chosen;
  if (auto written = replace_file(file, to_string(*chosen)); !written) {
    spdlog::warn("{}", written.error().message);
  }
  return chosen;
}

}  // namespace tangram::node
