#include "node/vendor/nvidia/driver_limiter.hpp"

#include "base/folder.hpp"
#include "base/json.hpp"
#include "node/vendor/nvidia/stand_in/edits.hpp"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

namespace tangram::node::nvidia {
namespace {

#if defined(__aarch64__)
constexpr std::string_view kLoader = "ld-linux-aarch64.so.1";
constexpr std::string_view kLibraries = "/lib/aarch64-linux-gnu/";
#else
constexpr std::string_view kLoader = "ld-linux-x86-64.so.2";
constexpr std::string_view kLibraries = "/lib/x86_64-linux-gnu/";
#endif
constexpr std::string_view kProgram = "tangram-memory-hook";
/// The driver's start takes seconds where nothing keeps it running. A runtime that waits longer
/// would pass kubelet's own limit for starting a container.
constexpr int kHookSeconds = 20;

/// @param limits  the allocation's folder
std::string hook_of(const std::string& installed, const std::string& nvml,
                    const std::string& limits) {
  const std::string program = installed + "/" + std::string(kProgram);
  std::string text;
  json::Writer out(text);
  out.begin_object().member("hookName", "createRuntime");
  out.member("path", installed + "/" + std::string(kLoader)).key("args").begin_array();
  for (const std::string& argument :
       {std::string(kProgram), std::string("--library-path"), installed, program,
        std::string("--nvml"), nvml, std::string("--limits"), limits}) {
    out.string(argument);
  }
  out.end_array().member("timeout", kHookSeconds).end_object();
  return text;
}

/// Other users of the host cannot reach the folders of allocations.
Result<void> make_folder(const std::string& all, const std::string& folder) {
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (!failed) {
    std::filesystem::permissions(all, std::filesystem::perms::owner_all, failed);
  }
  if (!failed) return {};
  return fail(Errc::kUnavailable, "make " + folder + ": " + failed.message());
}

std::vector<hook::MemoryLimit> only(std::vector<hook::MemoryLimit> limits, std::string_view card) {
  std::erase_if(limits, [&](const hook::MemoryLimit& limit) { return limit.card != card; });
  return limits;
}

Error without_limit(std::string_view card) {
  return fail(Errc::kNotFound,
              "the container was started without a limit of card " + std::string(card));
}

/// Sets the card's limit if it is in the list, and adds it to `changed`.
bool change_in(std::vector<hook::MemoryLimit>& limits, const model::GrantedCard& card,
               std::vector<hook::MemoryLimit>& changed) {
  const auto found = std::ranges::find(limits, card.uuid, &hook::MemoryLimit::card);
  if (found == limits.end()) return false;
  found->amount = card.memory_limit;
  changed.push_back(*found);
  return true;
}

}  // namespace

std::string DriverLimiter::path(std::string_view allocation) const {
  return places_.folder + "/" + std::string(allocation);
}

Result<ContainerEdits> DriverLimiter::limit(std::string_view allocation,
                                            const std::vector<model::GrantedCard>& cards,
                                            CdiEdits& vendor) {
  const auto nvml = host_path_of(vendor, "libnvidia-ml.so");
  if (!nvml) return nvml.error();
  hook::Limits limits;
  for (const model::GrantedCard& card : cards) {
    limits.nvidia.push_back({.card = card.uuid, .amount = card.memory_limit});
  }
  const std::string folder = path(allocation);
  if (auto made = make_folder(places_.folder, folder); !made) return made.error();
  {
    const std::lock_guard lock(mutex_);
    if (auto written = hook::LimitsFolder(folder).put(limits); !written) return written.error();
  }
  vendor.lists["hooks"].push_back(hook_of(places_.hook, *nvml, folder));
  return ContainerEdits{};
}

Result<void> DriverLimiter::change(std::string_view allocation,
                                   const std::vector<model::GrantedCard>& cards) {
  // In this order: see hook::LimitsFolder.
  const hook::LimitsFolder folder(path(allocation));
  const auto changed = write(folder, cards);
  if (!changed) return changed.error();
  const auto cgroup = cgroup_of(folder);
  if (!cgroup) return cgroup.error();
  if (!*cgroup) return {};
  const auto set = hook::limit_running(folder, *changed, [&](const hook::Limits& limits) {
    return set_memory_limits(places_.limiter, **cgroup, limits);
  });
  if (set) return {};
  // The driver may have lost the card, or keep another limit, for some time only.
  return fail(Errc::kUnavailable, set.error().message);
}

Result<hook::Limits> DriverLimiter::write(const hook::LimitsFolder& folder,
                                          const std::vector<model::GrantedCard>& cards) {
  const std::lock_guard lock(mutex_);
  auto limits = folder.limits();
  if (!limits) return limits.error();
  hook::Limits changed;
  for (const model::GrantedCard& card : cards) {
    if (change_in(limits->nvidia, card, changed.nvidia) ||
        change_in(limits->dmem, card, changed.dmem)) {
      continue;
    }
    return without_limit(card.uuid);
  }
  if (auto written = folder.put(*limits); !written) return written.error();
  return changed;
}

Result<std::optional<std::string>> DriverLimiter::cgroup_of(
    const hook::LimitsFolder& folder) const {
  const auto leaf = folder.leaf();
  if (!leaf) return leaf.error();
  return hook::folder_of(*leaf, places_.limiter.cgroups);
}

Result<std::uint64_t> DriverLimiter::in_use(std::string_view allocation, std::string_view card) {
  const hook::LimitsFolder folder(path(allocation));
  const auto limits = folder.limits();
  if (!limits) return limits.error();
  const hook::Limits of_card{.nvidia = only(limits->nvidia, card),
                             .dmem = only(limits->dmem, card)};
  if (of_card == hook::Limits{}) return without_limit(card);
  const auto cgroup = cgroup_of(folder);
  if (!cgroup) return cgroup.error();
  if (!*cgroup) return std::uint64_t{0};
  return memory_in_use(places_.limiter, **cgroup, of_card);
}

void DriverLimiter::keep(const std::set<std::string, std::less<>>& allocations) {
  remove_all_but(places_.folder, allocations);
}

std::vector<std::string> memory_hook_files(const std::string& program) {
  const std::string libraries(kLibraries);
  std::vector<std::string> files{program, libraries + std::string(kLoader)};
  for (const char* const name :
       {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1"}) {
    files.push_back(libraries + name);
  }
  return files;
}

}  // namespace tangram::node::nvidia
