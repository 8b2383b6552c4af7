#include "node/vendor/amd/activity.hpp"

#include "base/number.hpp"
#include "node/vendor/amd/pci_card.hpp"

#include <algorithm>
#include <optional>
#include <string>

namespace tangram::node::amd {
namespace {

constexpr const char* kProcesses = "/sys/class/kfd/kfd/proc";

bool has_queue(const KernelFiles& files, const std::string& process, std::uint64_t gpu_id) {
  const std::string queues = process + "/queues";
  return std::ranges::any_of(files.names_in(queues), [&](const std::string& queue) {
    const auto of_queue = files.number(queues + "/" + queue + "/gpuid");
    return of_queue && *of_queue == gpu_id;
  });
}

/// Nothing if it has neither memory nor queues there: amdkfd lists every card that a process could
/// use. A process that ends meanwhile has no files.
std::optional<CardProcess> process_on(const KernelFiles& files, const std::string& name,
                                      std::uint64_t gpu_id) {
  const auto pid = parse_number<std::int64_t>(name);
  if (!pid) return std::nullopt;
  const std::string folder = std::string(kProcesses) + "/" + name;
  const auto memory = files.number(folder + "/vram_" + std::to_string(gpu_id));
  if (!memory) return std::nullopt;
  if (*memory == 0 && !has_queue(files, folder, gpu_id)) return std::nullopt;
  return CardProcess{.pid = *pid, .memory_bytes = *memory};
}

/// Below 0 = unknown.
double utilization_of(const KernelFiles& files, const AmdCard& card) {
  if (card.is_partition) return -1;
  constexpr std::uint64_t kWhole = 100;
  const auto busy = files.number(pci_folder(card.installed.card.pci_bus) + "/gpu_busy_percent");
  return busy ? static_cast<double>(std::min(*busy, kWhole)) / static_cast<double>(kWhole) : -1;
}

Result<std::uint64_t> memory_used(const KernelFiles& files, const AmdCard& card,
                                  const std::vector<CardProcess>& processes) {
  if (!card.is_partition) {
    return files.number(pci_folder(card.installed.card.pci_bus) + "/mem_info_vram_used");
  }
  std::uint64_t bytes = 0;
  for (const CardProcess& process : processes) bytes += process.memory_bytes;
  return bytes;
}

}  // namespace

Result<CardActivity> read_activity(const KernelFiles& files, const AmdCard& card) {
  CardActivity activity;
  if (!files.has(pci_folder(card.installed.card.pci_bus))) {
    return fail(Errc::kUnavailable, "card " + card.installed.card.id + " is gone");
  }
  for (const std::string& name : files.names_in(kProcesses)) {
    if (const auto process = process_on(files, name, card.gpu_id)) {
      activity.processes.push_back(*process);
    }
  }
  std::ranges::sort(activity.processes, {}, &CardProcess::pid);
  const auto used = memory_used(files, card, activity.processes);
  if (!used) return fail(Errc::kUnavailable, used.error().message);
  activity.memory_used_bytes = *used;
  activity.utilization = utilization_of(files, card);
  return activity;
}

}  // namespace tangram::node::amd
