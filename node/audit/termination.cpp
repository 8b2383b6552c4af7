#include "node/audit/termination.hpp"

#include "node/container/process_handle.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace tangram::node {

std::map<std::int64_t, Result<void>> terminate(const MemoryUse& use, CardSource& source,
                                               const Processes& processes) {
  std::map<std::int64_t, Result<void>> outcomes;
  std::vector<std::pair<const PlacedProcess*, ProcessHandle>> opened;
  for (const PlacedProcess& process : use.processes) {
    auto handle = ProcessHandle::open(process.pid);
    if (handle) {
      opened.emplace_back(&process, std::move(*handle));
    } else if (handle.error().code != Errc::kNotFound) {
      outcomes.emplace(process.pid, handle.error());
    }
  }
  if (opened.empty()) return outcomes;
  const auto now = source.activity(use.card);
  if (!now) return outcomes;
  for (const auto& [process, handle] : opened) {
    const bool on_card = std::any_of(
        now->processes.begin(), now->processes.end(),
        [&, pid = process->pid](const CardProcess& listed) { return listed.pid == pid; });
    if (!on_card || processes.place_of(process->pid) != process->place) continue;
    auto killed = handle.kill();
    if (!killed && killed.error().code == Errc::kNotFound) continue;
    outcomes.emplace(process->pid, std::move(killed));
  }
  return outcomes;
}

}  // namespace tangram::node
