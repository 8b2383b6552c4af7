#pragma once

#include "node/vendor/nvidia/card_edits.hpp"
#include "node/vendor/vendor.hpp"

#include <functional>
#include <memory>
#include <string>
#include <vector>

/// NVIDIA's cards: NVML, XIDs, MPS, time slices, NVIDIA's CDI specs and the driver's files.
namespace tangram::node::nvidia {

/// What an operator can set for NVIDIA's cards. The initialisers are the defaults.
struct Settings {
  std::string nvml_library = {};  ///< empty = the driver's, else where the loader looks
  DriverPlaces driver = {};
  std::vector<std::string> cdi_dirs{"/etc/cdi", "/var/run/cdi"};
  std::string run_dir = "/run/tangram";
  std::string mps_launcher = {};     ///< put before the command that starts an MPS daemon
  std::string sharing_configs = {};  ///< folder of configuration files of NVIDIA's device plugin
  std::string sharing_default = {};  ///< the one for nodes without a label; empty = by its name
  bool mps_multiuser = true;         ///< one MPS server for the processes of all users
  /// "partitions": MPS gives compute in static SM partitions.
  std::string mps_compute = "percentage";
  int time_slice = 0;  ///< a TimeSlice
  /// In the agent's image: what it copies to the host for containers and their runtime.
  std::string stand_ins = "/usr/lib/tangram";
  std::string memory_hook = "/usr/bin/tangram-memory-hook";
};

class Nvidia final : public Vendor {
 public:
  explicit Nvidia(Settings settings = {});

  void add_options(CLI::App& cli) override;
  void set_places(const HostPlaces& places) override;
  [[nodiscard]] bool has_cards() const override;
  [[nodiscard]] std::unique_ptr<CardSource> open_cards() const override;
  [[nodiscard]] std::unique_ptr<Programs> programs() const override;
  [[nodiscard]] Result<std::optional<CardSharing>> card_sharing() const override;
  [[nodiscard]] Result<std::optional<CardLabels>> card_labels() const override;
  [[nodiscard]] std::unique_ptr<Enforcer> enforcer(model::Isolation mode,
                                                   const EnforcerParts& parts) const override;
  [[nodiscard]] Result<std::unique_ptr<MemoryLimiter>> memory_limiter(
      model::MemoryLimits means, const std::string& state_dir) const override;
  [[nodiscard]] Result<CdiEdits> cdi_edits(const std::vector<std::string>& cards) const override;

  [[nodiscard]] const Settings& settings() const { return settings_; }

 private:
  [[nodiscard]] CardEdits card_edits() const {
    return {settings_.cdi_dirs, settings_.driver, mig_};
  }
  [[nodiscard]] std::function<std::string()> find_nvml() const;

  Settings settings_;
  std::shared_ptr<MigLayout> mig_ = std::make_shared<MigLayout>();  ///< of the opened cards
};

/// What XIDs, the error numbers of NVIDIA's driver, mean for a card. From NVIDIA's Xid catalog
/// (docs.nvidia.com/deploy/xid-errors) and the list that NVIDIA's own device plugin ignores.
[[nodiscard]] HealthRules xid_rules();

}  // namespace tangram::node::nvidia
