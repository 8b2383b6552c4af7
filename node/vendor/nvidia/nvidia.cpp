#include "node/vendor/nvidia/nvidia.hpp"

#include "base/environment.hpp"
#include "node/container/host_files.hpp"
#include "node/vendor/nvidia/driver/programs.hpp"
#include "node/vendor/nvidia/driver_limiter.hpp"
#include "node/vendor/nvidia/feature_labels.hpp"
#include "node/vendor/nvidia/mps_enforcer.hpp"
#include "node/vendor/nvidia/mps_trial.hpp"
#include "node/vendor/nvidia/nvml_source.hpp"
#include "node/vendor/nvidia/offered_means.hpp"
#include "node/vendor/nvidia/offered_modes.hpp"
#include "node/vendor/nvidia/sharing/sharing_files.hpp"
#include "node/vendor/nvidia/sm_chunks.hpp"
#include "node/vendor/nvidia/stand_in/library_limiter.hpp"
#include "node/vendor/nvidia/time_slice_enforcer.hpp"
#include "node/vendor/pci_cards.hpp"

#include <CLI/CLI.hpp>

#include <iterator>
#include <sstream>
#include <utility>

namespace tangram::node::nvidia {
namespace {

constexpr const char* kPercentage = "percentage";
constexpr const char* kSmPartitions = "partitions";

MpsSettings mps_settings(const Settings& settings, int sharers) {
  MpsSettings mps{.sharers = sharers};
  mps.sm_partitions = settings.mps_compute == kSmPartitions;
  mps.run_dir = settings.run_dir;
  mps.multiuser = settings.mps_multiuser;
  std::istringstream words(settings.mps_launcher);
  mps.launcher = {std::istream_iterator<std::string>(words), {}};
  return mps;
}

MpsSettings mps_settings(const Settings& settings, const EnforcerParts& parts) {
  MpsSettings mps = mps_settings(settings, parts.sharers_per_card);
  mps.in_pod = parts.in_pod;
  mps.memory_limits = parts.memory_limits;
  return mps;
}

std::unique_ptr<DriverPrograms> programs_of(const Settings& settings) {
  return std::make_unique<DriverPrograms>(
      std::make_unique<SystemPrograms>(), Root(settings.driver.host_root),
      settings.driver.driver_roots, settings.run_dir + "/driver");
}

/// What asks the cards for their chunks, on this machine.
struct ChunkProbe {
  ChunkProbe(MpsSettings settings, std::unique_ptr<Programs> of_machine)
      : programs(std::move(of_machine)), chunks(std::move(settings), *programs, clock) {}
  std::unique_ptr<Programs> programs;
  SystemClock clock;
  SmChunks chunks;
};

/// Of --sharing-configs.
struct Configs {
  SharingFiles files;
  std::string default_name;
};

Result<Configs> read_configs(const Settings& settings) {
  auto files = read_sharing_files(settings.sharing_configs);
  if (!files) return files.error();
  auto name = default_file(*files, settings.sharing_default);
  if (!name) return name.error();
  return Configs{std::move(*files), std::move(*name)};
}

OfferedModes::Chunks chunks_of_cards(const Settings& settings) {
  if (settings.mps_compute != kSmPartitions) return nullptr;
  auto probe = std::make_shared<ChunkProbe>(mps_settings(settings, 0), programs_of(settings));
  return [probe](const std::string& card, const std::string& driver) {
    return probe->chunks.of(card, driver);
  };
}

}  // namespace

HealthRules xid_rules() {
  return {
      .error_name = "XID",
      // Caused by the application, or a consequence of another error: a graphics exception (13), a
      // page fault (31), a channel reset (43), clean-up after another error (45), a decoder
      // exception (68), a context switch that timed out (109).
      .ignored_errors = {13, 31, 43, 45, 68, 109},
      // The catalog asks for a reset at once: the card stopped processing (46), an uncorrectable
      // memory error (48, 140) that was not contained (95), firmware that halted (62, 119, 120), a
      // row that could not be remapped (64), NVLink (74), off the bus (79), not initialised (143).
      // A contained memory error (94) only costs its application.
      .reset_errors = {46, 48, 62, 64, 74, 79, 95, 119, 120, 140, 143},
  };
}

Nvidia::Nvidia(Settings settings)
    : Vendor(
          {.source = "nvml",
           .health = xid_rules(),
           .runtime = {.variable = "NVIDIA_VISIBLE_DEVICES",
                       .no_card = "void",
                       .setup = "name the folder of the driver's files by --driver-roots, or write "
                                "NVIDIA's CDI spec with `nvidia-ctk cdi generate "
                                "--output=/etc/cdi/nvidia.yaml --device-name-strategy=uuid`",
                       .program = "nvidia-container-runtime"}}),
      settings_(std::move(settings)) {}

void Nvidia::add_options(CLI::App& cli) {
  cli.add_option("--nvidia-cdi-dirs", settings_.cdi_dirs,
                 "Folders of NVIDIA's own CDI specs, comma-separated")
      ->delimiter(',');
  cli.add_option("--nvml-library", settings_.nvml_library,
                 "NVIDIA's management library; default: that of the driver in --driver-roots, else "
                 "libnvidia-ml.so.1");
  cli.add_option("--driver-roots", settings_.driver.driver_roots,
                 "Folders of the host that may hold the driver's files, as the root of a driver "
                 "container does; comma-separated, the first with the kernel's version counts")
      ->delimiter(',')
      ->capture_default_str();
  cli.add_option(
      "--mps-launcher", settings_.mps_launcher,
      "Put before the command that starts an MPS daemon, so that it outlives the agent's "
      "container: tangram-launcher run --");
  cli.add_option("--mps-multiuser", settings_.mps_multiuser,
                 "One MPS server for the processes of all users. For a driver without "
                 "-multiuser-server, set false and give pods that share a card one runAsUser");
  cli.add_option("--mps-compute", settings_.mps_compute,
                 "How MPS divides the compute of a card: percentage of its threads at most, or "
                 "partitions, static SM partitions for each container (driver r590, Ampere or "
                 "newer). Drain the node's shares before a change")
      ->check(CLI::IsMember({kPercentage, kSmPartitions}));
  cli.add_option("--stand-ins", settings_.stand_ins,
                 "Folder of the libraries that stand in for the driver's own in containers, for "
                 "--memory-limits=library; copied to the host");
  cli.add_option("--sharing-configs", settings_.sharing_configs,
                 "Folder of configuration files of NVIDIA's device plugin, as its ConfigMap is "
                 "mounted: pods that ask for nvidia.com/gpu get replicas of cards as they say. The "
                 "Node's label nvidia.com/device-plugin.config names the file (docs/sharing.md)");
  cli.add_option("--sharing-default", settings_.sharing_default,
                 "The file for nodes without that label; default: \"default\", or the only one");
  cli.add_option("--time-slice", settings_.time_slice,
                 "Length of a turn under gpu-isolation time-slice: 0 the driver's default, 1 "
                 "short, 2 medium, 3 long")
      ->check(CLI::Range(0, 3));
}

void Nvidia::set_places(const HostPlaces& places) {
  settings_.driver.host_root = places.host_root;
  settings_.run_dir = places.run_dir;
  settings_.memory_hook = places.memory_hook;
}

bool Nvidia::has_cards() const {
  constexpr std::string_view kVendor = "0x10de";
  return has_pci_card(settings_.driver.host_root, kVendor);
}

std::function<std::string()> Nvidia::find_nvml() const {
  return [edits = card_edits(), given = settings_.nvml_library] {
    if (!given.empty()) return given;
    std::string path = edits.nvml_path();
    return path.empty() ? std::string(NvmlLibrary::kName) : path;
  };
}

std::unique_ptr<Programs> Nvidia::programs() const { return programs_of(settings_); }

std::unique_ptr<CardSource> Nvidia::open_cards() const {
  struct Mps {
    std::unique_ptr<DriverPrograms> programs;
    MpsTrial trial;
  };
  auto programs = programs_of(settings_);
  DriverPrograms& of_trial = *programs;
  const MpsSettings settings = mps_settings(settings_, 0);
  const auto mps = std::shared_ptr<Mps>(
      new Mps{std::move(programs), {of_trial, settings.launcher, settings.run_dir}});
  const auto has_mps = [mps] {
    const bool installed = mps->programs->has("nvidia-cuda-mps-control") ||
                           mps_is_installed(process_environment("PATH"));
    return installed && mps->trial.works();
  };
  auto modes = std::make_unique<OfferedModes>(std::make_unique<NvmlSource>(find_nvml(), mig_),
                                              has_mps, chunks_of_cards(settings_));
  return std::make_unique<OfferedMeans>(
      std::move(modes), OfferedMeans::Machine{.stand_ins = settings_.stand_ins,
                                              .memory_hook = settings_.memory_hook,
                                              .cdi_edits = [edits = card_edits()](const auto& ids) {
                                                return edits.of_each(ids);
                                              }});
}

Result<std::optional<CardSharing>> Nvidia::card_sharing() const {
  if (settings_.sharing_configs.empty()) return std::optional<CardSharing>();
  auto configs = read_configs(settings_);
  if (!configs) return configs.error();
  return std::optional(sharing_by(std::move(configs->files), std::move(configs->default_name)));
}

Result<std::optional<CardLabels>> Nvidia::card_labels() const {
  std::function<SharingFile(std::string_view)> sharing = [](auto) { return SharingFile{}; };
  if (!settings_.sharing_configs.empty()) {
    auto configs = read_configs(settings_);
    if (!configs) return configs.error();
    sharing = [configs = std::move(*configs)](std::string_view choice) {
      return chosen_file(configs.files, configs.default_name, choice).file;
    };
  }
  return std::optional(feature_labels(std::move(sharing), settings_.driver.host_root));
}

Result<std::unique_ptr<MemoryLimiter>> Nvidia::memory_limiter(model::MemoryLimits means,
                                                              const std::string& state_dir) const {
  if (means == model::MemoryLimits::kLibrary) {
    const std::string all = state_dir + "/lib";
    const auto folder = install_on_host(stand_in_files(settings_.stand_ins), all);
    if (!folder) return folder.error();
    return std::make_unique<LibraryLimiter>(stand_ins_in(*folder), all,
                                            settings_.run_dir + "/shares");
  }
  if (means == model::MemoryLimits::kDriver) {
    const auto folder =
        install_on_host(memory_hook_files(settings_.memory_hook), state_dir + "/hook");
    if (!folder) return folder.error();
    return std::make_unique<DriverLimiter>(DriverLimiter::Places{
        .hook = *folder,
        .folder = settings_.run_dir + "/limits",
        .limiter = {.find_nvml = find_nvml(), .cgroups = hook::KernelFolders{}.cgroup}});
  }
  return std::unique_ptr<MemoryLimiter>();
}

std::unique_ptr<Enforcer> Nvidia::enforcer(model::Isolation mode,
                                           const EnforcerParts& parts) const {
  if (mode == model::Isolation::kMps) {
    return std::make_unique<MpsEnforcer>(parts.source, parts.programs, parts.clock,
                                         mps_settings(settings_, parts));
  }
  if (mode == model::Isolation::kTimeSlice) {
    return std::make_unique<TimeSliceEnforcer>(parts.source, parts.programs, parts.clock,
                                               static_cast<TimeSlice>(settings_.time_slice));
  }
  return nullptr;
}

Result<CdiEdits> Nvidia::cdi_edits(const std::vector<std::string>& cards) const {
  return card_edits().of(cards);
}

}  // namespace tangram::node::nvidia
