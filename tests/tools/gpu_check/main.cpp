// tangram-gpu-check: does on a machine with an NVIDIA GPU what the agent does on its node, without
// Kubernetes, and looks whether the shares hold. Wiring only.

#include "node/vendor/nvidia/nvidia.hpp"
#include "node/vendor/nvidia/nvml_source.hpp"
#include "tests/tools/gpu_check/checks.hpp"
#include "tests/tools/gpu_check/container.hpp"
#include "tests/tools/gpu_check/worker.hpp"

#include <CLI/CLI.hpp>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using namespace tangram;

constexpr int kFailed = 1;
constexpr int kBadUsage = 2;
constexpr int kNothingToCheck = 77;  // what scripts/stages.sh calls skipped

/// The card that is asked for, else the first physical one.
const node::InstalledCard* choose(const node::Inventory& found, const std::string& wanted) {
  for (const node::InstalledCard& card : found.cards) {
    const bool fits =
        wanted.empty() ? card.card.kind == model::CardKind::kPhysical : card.card.id == wanted;
    if (fits) return &card;
  }
  return nullptr;
}

using Check = void (*)(const gpu_check::Setting&);

/// What needs a physical card, by the names of --only. In this order: MPS changes the card's mode.
const std::vector<std::pair<std::string, Check>>& checks_of_card() {
  static const std::vector<std::pair<std::string, Check>> kAll{
      {"none", gpu_check::check_no_limits},
      {"files", gpu_check::check_files},
      {"library", gpu_check::check_library},
      {"outside", gpu_check::check_library_from_outside},
      {"driver", gpu_check::check_driver_limits},
      {"lease", gpu_check::check_lease},
      {"cost", gpu_check::check_cost},
      {"time-slice", gpu_check::check_time_slice},
      {"mps", gpu_check::check_mps},
      {"partitions", gpu_check::check_partitions}};
  return kAll;
}

struct Options {
  std::string card;
  std::string build = "build/release";
  std::vector<std::string> only;
  std::vector<std::string> runtimes;
  std::int64_t lease_seconds = 10;
  bool keeps_mode = false;

  [[nodiscard]] bool wants(const std::string& check) const {
    return only.empty() || std::find(only.begin(), only.end(), check) != only.end();
  }
};

/// A folder that ends with this object.
class WorkFolder {
 public:
  WorkFolder() {
    if (::mkdtemp(path_.data()) == nullptr) path_.clear();
  }
  ~WorkFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  WorkFolder(const WorkFolder&) = delete;
  WorkFolder& operator=(const WorkFolder&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_ = "/tmp/tangram_XXXXXX";  // short: sockets lie in it
};

void check_card(const Options& options, node::CardSource& source, const std::string& driver,
                const node::InstalledCard& card, gpu_check::Report& report) {
  const WorkFolder folder;
  const auto programs =
      node::nvidia::Nvidia({.driver = {.host_root = ""}, .run_dir = folder.path()}).programs();
  gpu_check::FixedModeSource fixed(source);
  const gpu_check::Setting setting{.source = options.keeps_mode ? fixed : source,
                                   .card = card,
                                   .driver = driver,
                                   .programs = *programs,
                                   .build = std::filesystem::absolute(options.build),
                                   .work_dir = folder.path(),
                                   .runtimes = options.runtimes,
                                   .lease_seconds = options.lease_seconds,
                                   .keeps_mode = options.keeps_mode,
                                   .report = report};
  for (const auto& [name, check] : checks_of_card()) {
    if (options.wants(name)) check(setting);
  }
}

int check_all(const Options& options) {
  node::nvidia::NvmlSource source;
  const auto found = source.inventory();
  if (!found) {
    std::cout << "nothing was checked: " << found.error().message << '\n';
    return kNothingToCheck;
  }
  if (found->cards.empty()) {
    std::cout << "nothing was checked: the driver lists no cards\n";
    return kNothingToCheck;
  }
  node::SystemPrograms programs;
  gpu_check::Report report;
  if (options.wants("inventory")) {
    gpu_check::check_inventory(*found, programs, report);
    gpu_check::check_watching(source, *found, report);
  }
  if (const node::InstalledCard* card = choose(*found, options.card)) {
    check_card(options, source, found->driver, *card, report);
  } else {
    report.not_checked("all that needs a card", "there is no such physical card");
  }
  report.not_checked("containers of a container runtime",
                     "no Kubernetes here: scripts/e2e has it, over a test driver");
  report.not_checked("faults", "none can be made at will: the tests play them with the fake NVML");
  report.print_table();
  return report.any_failed() ? kFailed : 0;
}

std::vector<std::string> check_names() {
  std::vector<std::string> names{"inventory"};
  for (const auto& [name, check] : checks_of_card()) names.push_back(name);
  return names;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && argv[1] == std::string_view(gpu_check::kEnter)) {
    return gpu_check::enter({argv + 2, argv + argc});
  }
  CLI::App app("Checks on this machine's NVIDIA GPU all that Tangram promises of isolation");
  Options all;
  app.add_option("--card", all.card, "UUID of the card to share; default: the first physical one");
  app.add_option("--build", all.build, "The build tree with programs and libraries")
      ->capture_default_str();
  app.add_option("--only", all.only, "Only these checks")->check(CLI::IsMember(check_names()));
  app.add_option("--runtime", all.runtimes,
                 "A program of tests/cuda_runtime, linked with a CUDA runtime; repeat it");
  app.add_option("--lease-seconds", all.lease_seconds, "How long to look at each pair of shares")
      ->capture_default_str()
      ->check(CLI::Range(1, 60));
  app.add_flag("--keep-mode", all.keeps_mode,
               "Leave the card's compute mode and time slice as they are; some checks need more");
  gpu_check::WorkerOptions options;
  CLI::App* worker = app.add_subcommand("worker", "one client process; the check starts these");
  worker->add_option("--start-at", options.start_at, "seconds since 1970");
  worker->add_option("--seconds", options.seconds, "how long to compute");
  worker->add_option("--allocate-up-to", options.allocate_up_to, "MiB");
  worker->add_option("--bins", options.bins, "in how many to count units of work");
  worker->add_option("--bin-ms", options.bin_ms, "how long each is");
  worker->add_option("--rounds", options.rounds, "of each kernel of a unit");
  worker->add_option("--kernels", options.kernels, "of a unit");
  worker->add_option("--batch", options.batch, "units that are launched at a time");
  worker->add_option("--idle-from", options.idle_from, "the bin from which on it does nothing");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : kBadUsage;
  }
  spdlog::set_level(spdlog::level::warn);
  (void)std::signal(SIGPIPE, SIG_IGN);  // a client that has ended is what a check reports
  return worker->parsed() ? gpu_check::run_worker(options) : check_all(all);
}
