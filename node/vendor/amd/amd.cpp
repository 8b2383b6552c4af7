#include "node/vendor/amd/amd.hpp"

#include "node/container/hook_limiter.hpp"
#include "node/container/host_files.hpp"
#include "node/hook/dmem.hpp"
#include "node/hook/limit_memory.hpp"
#include "node/isolation/enforcers.hpp"
#include "node/vendor/amd/amd_source.hpp"
#include "node/vendor/amd/card_edits.hpp"
#include "node/vendor/amd/memory_regions.hpp"
#include "node/vendor/amd/ras.hpp"
#include "node/vendor/pci_cards.hpp"

namespace tangram::node::amd {
namespace {

Result<void> set_limits(const std::string& cgroups, const std::string& cgroup,
                        const hook::Limits& limits) {
  hook::DmemLimiter kernel(cgroups);
  return hook::limit_memory(cgroup, {{kernel, limits.dmem}});
}

Result<std::uint64_t> in_use(const std::string& cgroups, const std::string& cgroup,
                             const hook::Limits& limits) {
  return hook::DmemLimiter(cgroups).in_use(cgroup, limits.dmem.at(0).card);
}

HookedDriver driver_by(const KernelFiles& files, const std::string& cgroups) {
  return {
      .limits = [files,
                 cgroups](const std::vector<model::GrantedCard>& cards) -> Result<hook::Limits> {
        const auto here = read_amd_cards(files);
        if (!here) return here.error();
        return region_limits(cgroups, *here, cards);
      },
      .arguments = [](const CdiEdits&) { return std::vector<std::string>{}; },
      .set = [cgroups](const std::string& cgroup,
                       const hook::Limits& limits) { return set_limits(cgroups, cgroup, limits); },
      .in_use = [cgroups](const std::string& cgroup,
                          const hook::Limits& limits) { return in_use(cgroups, cgroup, limits); }};
}

}  // namespace

Amd::Amd(Settings settings)
    : Vendor({.source = "amdgpu",
              .health = ras_rules(),
              // As AMD's container toolkit reads it (internal/oci/oci.go there): numbers of cards,
              // or "all". It shows none for any other text, and knows no names of CDI devices.
              .runtime = {.variable = "AMD_VISIBLE_DEVICES",
                          .no_card = "none",
                          .setup = "load the kernel module amdgpu with its part amdkfd",
                          .takes_names = false}}),
      settings_(std::move(settings)) {}

void Amd::add_options(CLI::App& /*cli*/) {}

bool Amd::has_cards() const {
  constexpr std::string_view kVendor = "0x1002";  // PCI_VENDOR_ID_ATI
  return has_pci_card(settings_.places.host_root, kVendor);
}

std::unique_ptr<CardSource> Amd::open_cards() const {
  return std::make_unique<AmdSource>(
      AmdSource::Machine{.host_root = settings_.places.host_root,
                         .cgroups = settings_.cgroups,
                         .memory_hook = settings_.places.memory_hook});
}

std::unique_ptr<Enforcer> Amd::enforcer(model::Isolation mode,
                                        const EnforcerParts& /*parts*/) const {
  if (mode != model::Isolation::kTimeSlice) return nullptr;
  return make_idle_enforcer(
      "isolation time-slice: the card's own scheduler gives the pods on this card their turns; "
      "their shares of compute are not enforced");
}

Result<std::unique_ptr<MemoryLimiter>> Amd::memory_limiter(model::MemoryLimits means,
                                                           const std::string& state_dir) const {
  if (means != model::MemoryLimits::kDriver) return std::unique_ptr<MemoryLimiter>();
  const auto folder =
      install_on_host(memory_hook_files(settings_.places.memory_hook), state_dir + "/hook");
  if (!folder) return folder.error();
  return std::make_unique<HookLimiter>(
      HookLimiter::Places{.hook = *folder,
                          .folder = settings_.places.run_dir + "/limits",
                          .cgroups = settings_.cgroups},
      driver_by(files(), settings_.cgroups));
}

Result<CdiEdits> Amd::cdi_edits(const std::vector<std::string>& cards) const {
  const auto here = read_amd_cards(files());
  if (!here) return fail(Errc::kUnavailable, here.error().message);
  return card_edits(files(), *here, cards);
}

}  // namespace tangram::node::amd
