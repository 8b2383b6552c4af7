#pragma once

#include "node/hook/cgroup.hpp"
#include "node/vendor/amd/kernel_files.hpp"
#include "node/vendor/vendor.hpp"

#include <memory>
#include <string>
#include <vector>

/// AMD's cards: the files of the kernel's drivers amdgpu and amdkfd, and the kernel's limits of
/// their memory. No library or program of ROCm is needed on the node or in the agent's image.
namespace tangram::node::amd {

/// Where this machine has what the vendor needs. The initialisers are the defaults.
struct Settings {
  HostPlaces places = {};
  std::string cgroups = hook::KernelFolders{}.cgroup;  ///< where cgroup v2 is mounted
};

class Amd final : public Vendor {
 public:
  explicit Amd(Settings settings = {});

  /// It has none of its own.
  void add_options(CLI::App& cli) override;
  void set_places(const HostPlaces& places) override { settings_.places = places; }
  [[nodiscard]] bool has_cards() const override;
  [[nodiscard]] std::unique_ptr<CardSource> open_cards() const override;
  /// Time slices are the card's own scheduler's, and need no setting.
  [[nodiscard]] std::unique_ptr<Enforcer> enforcer(model::Isolation mode,
                                                   const EnforcerParts& parts) const override;
  /// The kernel's (`driver`). No library stands in for ROCm's.
  [[nodiscard]] Result<std::unique_ptr<MemoryLimiter>> memory_limiter(
      model::MemoryLimits means, const std::string& state_dir) const override;
  /// @returns kUnavailable if a card is not here now. Never kNotFound: AMD's own runtime cannot
  ///          give a container what the agent cannot
  [[nodiscard]] Result<CdiEdits> cdi_edits(const std::vector<std::string>& cards) const override;

  [[nodiscard]] const Settings& settings() const { return settings_; }

 private:
  [[nodiscard]] KernelFiles files() const { return KernelFiles(settings_.places.host_root); }

  Settings settings_;
};

}  // namespace tangram::node::amd
