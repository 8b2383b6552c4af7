// tangram-gpu-check: does on a machine with an NVIDIA GPU what the agent does on its node, without
// Kubernetes, and looks whether the shares hold. Wiring only.

#include "node/vendor/nvidia/nvml_source.hpp"
#include "tests/tools/gpu_check/checks.hpp"
#include "tests/tools/gpu_check/worker.hpp"

#include <CLI/CLI.hpp>
#include <spdlog/spdlog.h>

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <string>

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

int check_all(const std::string& wanted) {
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
  gpu_check::check_inventory(*found, programs, report);
  gpu_check::check_watching(source, *found, report);
  if (const node::InstalledCard* card = choose(*found, wanted)) {
    std::string work_dir = "/tmp/tangram_XXXXXX";  // short: sockets lie in it
    if (::mkdtemp(work_dir.data()) == nullptr) return kFailed;
    gpu_check::check_mps(source, *card, programs, work_dir, report);
    gpu_check::check_time_slice(source, *card, programs, report);
    std::filesystem::remove_all(work_dir);
  } else {
    report.not_checked("MPS, time-slice", "there is no such physical card");
  }
  report.not_checked("containers",
                     "no Kubernetes here: CDI, mounts and TANGRAM_* are not looked at");
  report.not_checked("faults", "none can be made at will: the tests play them with the fake NVML");
  return report.any_failed() ? kFailed : 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app(
      "Checks NVML, MPS and time slices on this machine's NVIDIA GPU, as the agent uses them");
  std::string card;
  app.add_option("--card", card, "UUID of the card to share; default: the first physical one");
  gpu_check::WorkerOptions options;
  CLI::App* worker =
      app.add_subcommand("worker", "one client process; the check starts these itself");
  worker->add_option("--start-at", options.start_at, "seconds since 1970");
  worker->add_option("--seconds", options.seconds, "how long to compute");
  worker->add_option("--allocate-up-to", options.allocate_up_to, "MiB");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : kBadUsage;
  }
  spdlog::set_level(spdlog::level::warn);
  return worker->parsed() ? gpu_check::run_worker(options) : check_all(card);
}
