#include "node/container/processes.hpp"

#include "base/file.hpp"
#include "base/number.hpp"

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

namespace tangram::node {
namespace {

bool is_uid_character(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || c == '-' || c == '_';
}

}  // namespace

std::string pod_uid_in_cgroup(const std::string& text) {
  constexpr std::string_view kMark = "pod";
  constexpr std::size_t kUidLength = 36;        // 32 hexadecimal digits in five groups
  constexpr std::size_t kMirrorUidLength = 32;  // a static pod's is a hash
  for (auto at = text.find(kMark); at != std::string::npos; at = text.find(kMark, at + 1)) {
    const bool begins = at > 0 && (text[at - 1] == '/' || text[at - 1] == '-');
    const auto first = text.begin() + static_cast<std::ptrdiff_t>(at + kMark.size());
    const auto last = std::find_if_not(first, text.end(), is_uid_character);
    const auto length = static_cast<std::size_t>(last - first);
    if (!begins || (length != kUidLength && length != kMirrorUidLength)) continue;
    std::string uid(first, last);
    std::replace(uid.begin(), uid.end(), '_', '-');
    return uid;
  }
  return {};
}

ProcProcesses::ProcProcesses(std::string proc) : proc_(std::move(proc)) {}

std::string ProcProcesses::pod_of(std::int64_t pid) const {
  const auto text = read_file(proc_ + "/" + std::to_string(pid) + "/cgroup");
  return text ? pod_uid_in_cgroup(*text) : std::string{};
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
