#include "node/audit/device_check.hpp"

#include "node/container/card_environment.hpp"
#include "node/kubelet/allocate_response.hpp"

#include <algorithm>

namespace tangram::node {
namespace {

bool is_of(const JournalEntry& entry, const RuntimeContainer& container) {
  return entry.claim && entry.claim->pod_uid == container.pod_uid &&
         entry.claim->container == container.container;
}

/// The variable that its spec adds.
std::string mark_of(const JournalEntry& entry) {
  return std::string(kAllocationVariable) + "=" + entry.name;
}

}  // namespace

bool must_have_device(const RuntimeContainer& container, const std::vector<JournalEntry>& journal) {
  return std::ranges::any_of(journal, [&](const JournalEntry& entry) {
    return is_of(entry, container) && entry.claim->spec.find(mark_of(entry)) != std::string::npos;
  });
}

bool has_device(const RuntimeContainer& container, const std::vector<std::string>& environment,
                const std::vector<JournalEntry>& journal) {
  return std::ranges::any_of(journal, [&](const JournalEntry& entry) {
    if (!is_of(entry, container)) return false;
    const std::string mark = mark_of(entry);
    const std::string device = "=" + qualified_name(entry.name);
    return std::ranges::any_of(environment, [&](const std::string& variable) {
      return variable == mark || variable.ends_with(device);
    });
  });
}

}  // namespace tangram::node
