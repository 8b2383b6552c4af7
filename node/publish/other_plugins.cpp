#include "node/publish/other_plugins.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

namespace tangram::node {
namespace {

// Of each vendor's own device plugin; with '-' or '_' at the end, all names that begin so. AMD's
// names compute partitions by their mode and that of the memory, amd.com/cpx_nps4
// (github.com/ROCm/k8s-device-plugin, docs/user-guide/resource-allocation.md).
constexpr std::array<std::string_view, 9> kOtherPluginsGpus{
    "nvidia.com/gpu", "nvidia.com/gpu.shared", "nvidia.com/mig-", "amd.com/gpu", "amd.com/spx_",
    "amd.com/dpx_",   "amd.com/tpx_",          "amd.com/qpx_",    "amd.com/cpx_"};

}  // namespace

bool is_other_plugins_gpu(std::string_view resource) {
  const auto is_named = [&](std::string_view name) {
    const bool is_begin = name.ends_with('-') || name.ends_with('_');
    return is_begin ? resource.starts_with(name) : resource == name;
  };
  return std::any_of(kOtherPluginsGpus.begin(), kOtherPluginsGpus.end(), is_named);
}

bool is_of_card(std::string_view device, std::string_view card) {
  if (card.empty() || !device.starts_with(card)) return false;
  device.remove_prefix(card.size());
  return device.empty() || (std::isalnum(static_cast<unsigned char>(device.front())) == 0);
}

OtherPlugins::OtherPlugins(Parts parts) : parts_(std::move(parts)) {}

std::optional<std::set<std::string>> OtherPlugins::in_use() {
  if (!parts_.pods.synced()) return std::nullopt;
  const auto checkpoint = parts_.checkpoint();
  const std::lock_guard lock(mutex_);
  if (!checkpoint && checkpoint.error().code != Errc::kNotFound) {
    spdlog::warn("{}", checkpoint.error().message);
    return known_;
  }
  known_.emplace();
  if (!checkpoint) return known_;
  std::optional<std::map<std::string, std::int64_t>> with_process;  // read once, if at all
  const auto is_alive = [&](const std::string& uid) {
    if (parts_.pods.find(uid) != nullptr) return true;
    if (!with_process) with_process = parts_.with_process();
    return with_process->contains(uid);
  };
  const CardsPtr cards = parts_.cards();
  const auto is_card = [&](const std::string& device) {
    return std::ranges::any_of(cards->inventory.cards, [&](const InstalledCard& installed) {
      return is_of_card(device, installed.card.id);
    });
  };
  for (const DeviceUse& use : checkpoint->others) {
    const bool has_card =
        is_other_plugins_gpu(use.resource) || std::ranges::any_of(use.devices, is_card);
    if (has_card && is_alive(use.pod_uid)) known_->insert(use.resource);
  }
  return known_;
}

}  // namespace tangram::node
