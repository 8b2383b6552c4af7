#include "node/container/processes.hpp"

#include "base/file.hpp"
#include "base/number.hpp"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

namespace tangram::node {
namespace {

bool is_lower_hex(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); }

bool is_uid_character(char c) { return is_lower_hex(c) || c == '-' || c == '_'; }

/// The length of a pod's UID at the start of the text; 0 = there is none.
std::size_t uid_length(std::string_view text) {
  constexpr std::size_t kUidLength = 36;        // 32 hexadecimal digits in five groups
  constexpr std::size_t kMirrorUidLength = 32;  // a static pod's is a hash
  const auto last = std::find_if_not(text.begin(), text.end(), is_uid_character);
  const auto length = static_cast<std::size_t>(last - text.begin());
  return length == kUidLength || length == kMirrorUidLength ? length : 0;
}

/// @param group  the name of a container's control group, or a longer one that begins with it
std::string id_in_group(std::string_view group) {
  constexpr std::size_t kIdLength = 64;
  group = group.substr(0, group.find('/'));
  if (group.starts_with("crio-conmon-")) return {};  // CRI-O's monitor of that container
  group.remove_prefix(group.find_last_of("-:") + 1);
  const std::string_view id = group.substr(0, kIdLength);
  if (id.size() != kIdLength || !std::all_of(id.begin(), id.end(), is_lower_hex)) return {};
  const std::string_view rest = group.substr(kIdLength);
  // The kernel adds " (deleted)" once the group is removed.
  const bool ends = rest.empty() || rest == ".scope" || rest.starts_with(' ');
  return ends ? std::string(id) : std::string();
}

/// @param below  what follows the pod's UID on the line
std::string container_id(std::string_view below) {
  constexpr std::string_view kSlice = ".slice";
  if (below.starts_with(kSlice)) below.remove_prefix(kSlice.size());
  const bool has_group = below.starts_with('/') || below.starts_with(':');
  return has_group ? id_in_group(below.substr(1)) : std::string();
}

}  // namespace

ProcessPlace place_in_cgroup(std::string_view text) {
  constexpr std::string_view kMark = "pod";
  for (auto at = text.find(kMark); at != std::string::npos; at = text.find(kMark, at + 1)) {
    if (at == 0 || (text[at - 1] != '/' && text[at - 1] != '-')) continue;
    const std::string_view rest = text.substr(at + kMark.size());
    const std::size_t length = uid_length(rest);
    if (length == 0) continue;
    ProcessPlace place{.pod_uid = std::string(rest.substr(0, length)), .container_id = {}};
    std::replace(place.pod_uid.begin(), place.pod_uid.end(), '_', '-');
    place.container_id = container_id(rest.substr(length, rest.find('\n') - length));
    return place;
  }
  return {};
}

ProcProcesses::ProcProcesses(std::string proc) : proc_(std::move(proc)) {}

ProcessPlace ProcProcesses::place_of(std::int64_t pid) const {
  const auto text = read_file(proc_ + "/" + std::to_string(pid) + "/cgroup");
  return text ? place_in_cgroup(*text) : ProcessPlace{};
}

std::map<std::string, std::int64_t> ProcProcesses::pods() const {
  std::map<std::string, std::int64_t> pods;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(proc_, ignored)) {
    const std::string name = entry.path().filename();
    const auto pid = parse_number<std::int64_t>(name);
    if (!pid) continue;
    if (auto uid = pod_of(*pid); !uid.empty()) pods.emplace(std::move(uid), *pid);
  }
  return pods;
}

}  // namespace tangram::node
