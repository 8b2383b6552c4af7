#include "node/container/hook_limiter.hpp"

#include "base/folder.hpp"
#include "base/json.hpp"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

namespace tangram::node {
namespace {

#if defined(__aarch64__)
constexpr std::string_view kLoader = "ld-linux-aarch64.so.1";
constexpr const char* kLibraries = "/lib/aarch64-linux-gnu/";
#else
constexpr std::string_view kLoader = "ld-linux-x86-64.so.2";
constexpr const char* kLibraries = "/lib/x86_64-linux-gnu/";
#endif
constexpr std::string_view kProgram = "tangram-memory-hook";
/// A driver's start takes seconds where nothing keeps it running. A runtime that waits longer would
/// pass kubelet's own limit for starting a container.
constexpr int kHookSeconds = 20;

/// @param more  arguments of the vendor's
std::string hook_of(const std::string& installed, const std::string& limits,
                    const std::vector<std::string>& more) {
  const std::string program = installed + "/" + std::string(kProgram);
  std::string text;
  json::Writer out(text);
  out.begin_object().member("hookName", "createRuntime");
  out.member("path", installed + "/" + std::string(kLoader)).key("args").begin_array();
  for (const std::string& argument : {std::string(kProgram), std::string("--library-path"),
                                      installed, program, std::string("--limits"), limits}) {
    out.string(argument);
  }
  for (const std::string& argument : more) out.string(argument);
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

Error without_limit(std::string_view card) {
  return fail(Errc::kNotFound,
              "the container was started without a limit of card " + std::string(card));
}

/// Puts the new limits in place of those of the same cards.
/// @returns false if a card has none
bool replace(std::vector<hook::MemoryLimit>& limits, const std::vector<hook::MemoryLimit>& by) {
  return std::ranges::all_of(by, [&](const hook::MemoryLimit& limit) {
    const auto found = std::ranges::find(limits, limit.card, &hook::MemoryLimit::card);
    if (found == limits.end()) return false;
    *found = limit;
    return true;
  });
}

std::string names_of(const std::vector<model::GrantedCard>& cards) {
  std::string names;
  for (const model::GrantedCard& card : cards) names += (names.empty() ? "" : ", ") + card.uuid;
  return names;
}

}  // namespace

std::string HookLimiter::path(std::string_view allocation) const {
  return places_.folder + "/" + std::string(allocation);
}

Result<ContainerEdits> HookLimiter::limit(std::string_view allocation,
                                          const std::vector<model::GrantedCard>& cards,
                                          CdiEdits& vendor) {
  const auto arguments = driver_.arguments(vendor);
  if (!arguments) return arguments.error();
  const auto limits = driver_.limits(cards);
  if (!limits) return limits.error();
  const std::string folder = path(allocation);
  if (auto made = make_folder(places_.folder, folder); !made) return made.error();
  {
    const std::lock_guard lock(mutex_);
    if (auto written = hook::LimitsFolder(folder).put(*limits); !written) return written.error();
  }
  vendor.lists["hooks"].push_back(hook_of(places_.hook, folder, *arguments));
  return ContainerEdits{};
}

Result<void> HookLimiter::change(std::string_view allocation,
                                 const std::vector<model::GrantedCard>& cards) {
  // In this order: see hook::LimitsFolder.
  const hook::LimitsFolder folder(path(allocation));
  const auto changed = write(folder, cards);
  if (!changed) return changed.error();
  const auto cgroup = cgroup_of(folder);
  if (!cgroup) return cgroup.error();
  if (!*cgroup) return {};
  const auto set = hook::limit_running(
      folder, *changed, [&](const hook::Limits& limits) { return driver_.set(**cgroup, limits); });
  if (set) return {};
  // The driver may have lost the card, or keep another limit, for some time only.
  return fail(Errc::kUnavailable, set.error().message);
}

Result<hook::Limits> HookLimiter::write(const hook::LimitsFolder& folder,
                                        const std::vector<model::GrantedCard>& cards) {
  auto changed = driver_.limits(cards);
  if (!changed) return changed.error();
  const std::lock_guard lock(mutex_);
  auto limits = folder.limits();
  if (!limits) return limits.error();
  if (!replace(limits->nvidia, changed->nvidia) || !replace(limits->dmem, changed->dmem)) {
    return without_limit(names_of(cards));
  }
  if (auto written = folder.put(*limits); !written) return written.error();
  return changed;
}

Result<std::optional<std::string>> HookLimiter::cgroup_of(const hook::LimitsFolder& folder) const {
  const auto leaf = folder.leaf();
  if (!leaf) return leaf.error();
  return hook::folder_of(*leaf, places_.cgroups);
}

Result<std::uint64_t> HookLimiter::in_use(std::string_view allocation, std::string_view card) {
  const hook::LimitsFolder folder(path(allocation));
  auto limits = folder.limits();
  if (!limits) return limits.error();
  std::vector<model::GrantedCard> parts(1);
  parts.front().uuid = card;
  const auto of_card = driver_.limits(parts);
  if (!of_card) return of_card.error();
  if (!replace(limits->nvidia, of_card->nvidia) || !replace(limits->dmem, of_card->dmem)) {
    return without_limit(card);
  }
  const auto cgroup = cgroup_of(folder);
  if (!cgroup) return cgroup.error();
  if (!*cgroup) return std::uint64_t{0};
  return driver_.in_use(**cgroup, *of_card);
}

void HookLimiter::keep(const std::set<std::string, std::less<>>& allocations) {
  remove_all_but(places_.folder, allocations);
}

std::vector<std::string> memory_hook_files(const std::string& program) {
  const std::string libraries = kLibraries;
  std::vector<std::string> files{program, libraries + std::string(kLoader)};
  for (const char* const name :
       {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1"}) {
    files.push_back(libraries + name);
  }
  return files;
}

}  // namespace tangram::node
