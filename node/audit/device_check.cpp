#include "node/audit/device_check.hpp"

#include <algorithm>

namespace tangram::node {
namespace {

bool is_of(const JournalEntry& entry, const RuntimeContainer& container) {
  return entry.claim && entry.claim->pod_uid == container.pod_uid &&
         entry.claim->container == container.container;
}

}  // namespace

const JournalEntry* due_entry(const RuntimeContainer& container,
                              const std::vector<JournalEntry>& journal, Age age) {
  const bool has_age = age == Age::kAsCreated && container.created_at != 0;
  const JournalEntry* newest = nullptr;
  for (const JournalEntry& entry : journal) {
    if (!is_of(entry, container) || entry.claim->mark.empty()) continue;
    // The former container of a restart may be in the runtime's list still.
    if (has_age && container.created_at < entry.claim->marked_at) continue;
    if (newest == nullptr || newest->claim->marked_at < entry.claim->marked_at) newest = &entry;
  }
  return newest;
}

bool shows(const std::vector<std::string>& environment, std::string_view mark) {
  const std::string_view name = mark.substr(0, mark.find('=') + 1);
  const auto last = std::find_if(environment.rbegin(), environment.rend(),
                                 [&](const auto& variable) { return variable.starts_with(name); });
  return last != environment.rend() && *last == mark;
}

}  // namespace tangram::node
