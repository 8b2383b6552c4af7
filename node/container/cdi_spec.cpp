#include "node/container/cdi_spec.hpp"

#include "base/file.hpp"
#include "base/json.hpp"
#include "node/kubelet/allocate_response.hpp"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <system_error>
#include <utility>

namespace tangram::node {
namespace {

constexpr std::string_view kSuffix = ".json";
// Supported by containerd 1.7, which rejects versions above 0.7, and sufficient.
constexpr std::string_view kOwnVersion = "0.6.0";

void write_mount(json::Writer& out, const BindMount& mount) {
  out.begin_object().member("hostPath", mount.host_path);
  out.member("containerPath", mount.container_path).key("options").begin_array();
  const bool writable = mount.access == Access::kReadWrite;
  // runc clears the flags of the host's mount that are not listed.
  for (const std::string_view option :
       {writable ? "rw" : "ro", "nosuid", "nodev", "noexec", "bind"}) {
    out.string(option);
  }
  out.end_array().end_object();
}

/// The vendor's lists first: in the container later entries win.
void write_edits(json::Writer& out, const ContainerEdits& edits, const CdiEdits& vendor) {
  const auto take = [&](std::string_view list) {
    out.key(list).begin_array();
    const auto found = vendor.lists.find(list);
    if (found == vendor.lists.end()) return;
    for (const std::string& element : found->second) out.raw(element);
  };
  out.begin_object();
  take("env");
  for (const std::string& variable : edits.env) out.string(variable);
  out.end_array();
  take("mounts");
  for (const BindMount& mount : edits.mounts) write_mount(out, mount);
  out.end_array();
  for (const auto& [list, elements] : vendor.lists) {
    if (list == "env" || list == "mounts") continue;
    take(list);
    out.end_array();
  }
  out.end_object();
}

/// Removes and returns the number before the next dot. Versions come from other programs: the
/// number ends at anything but a digit, and is bounded.
std::int64_t take_number(std::string_view& version) {
  constexpr std::int64_t kMost = 1'000'000'000;
  const std::string_view digits = version.substr(0, version.find('.'));
  version.remove_prefix(std::min(version.size(), digits.size() + 1));
  std::int64_t number = 0;
  for (const char c : digits) {
    if (c < '0' || c > '9') break;
    number = std::min(kMost, number * 10 + (c - '0'));
  }
  return number;
}

}  // namespace

bool older_version(std::string_view a, std::string_view b) {
  while (!a.empty() || !b.empty()) {
    const std::int64_t left = take_number(a);
    const std::int64_t right = take_number(b);
    if (left != right) return left < right;
  }
  return false;
}

std::string encode_cdi_spec(std::string_view name, const ContainerEdits& edits,
                            const CdiEdits& vendor) {
  std::string text;
  json::Writer out(text);
  const bool newer = older_version(kOwnVersion, vendor.cdi_version);
  out.begin_object().member("cdiVersion", newer ? vendor.cdi_version : kOwnVersion);
  out.member("kind", kCdiKind).key("devices").begin_array();
  out.begin_object().member("name", name).key("containerEdits");
  write_edits(out, edits, vendor);
  out.end_object().end_array().end_object();
  return text;
}

CdiFolder::CdiFolder(std::string path) : path_(std::move(path)) {
  std::vector<std::filesystem::path> torn;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(path_, ignored)) {
    const std::string file = entry.path().filename();
    if (file.starts_with(kFilePrefix) && file.ends_with(kPartSuffix)) torn.push_back(entry.path());
  }
  for (const auto& part : torn) std::filesystem::remove(part, ignored);
}

Result<bool> CdiFolder::put(std::string_view name, const std::string& spec) const {
  const std::lock_guard lock(writing_);
  const std::string path = file(name);
  if (const auto there = read_file(path); there && *there == spec) return false;
  return write(path, spec);
}

Result<bool> CdiFolder::restore(std::string_view name, const std::string& spec) const {
  const std::lock_guard lock(writing_);
  const std::string path = file(name);
  std::error_code ignored;
  if (std::filesystem::exists(path, ignored)) return false;
  return write(path, spec);
}

/// Under writing_.
Result<bool> CdiFolder::write(const std::string& path, const std::string& spec) const {
  std::error_code ignored;  // writing reports what is wrong with the folder
  std::filesystem::create_directories(path_, ignored);
  if (auto written = replace_file(path, spec); !written) return written.error();
  return true;
}

Result<std::string> CdiFolder::read(std::string_view name) const { return read_file(file(name)); }

bool CdiFolder::remove(std::string_view name) const {
  std::error_code ignored;
  return std::filesystem::remove(file(name), ignored);
}

std::set<std::string> CdiFolder::names() const {
  std::set<std::string> names;
  std::error_code missing;  // no folder, no specs
  for (const auto& entry : std::filesystem::directory_iterator(path_, missing)) {
    const std::string file = entry.path().filename();
    if (!file.starts_with(kFilePrefix) || !file.ends_with(kSuffix)) continue;
    names.insert(
        file.substr(kFilePrefix.size(), file.size() - kFilePrefix.size() - kSuffix.size()));
  }
  return names;
}

std::string CdiFolder::file(std::string_view name) const {
  return path_ + "/" + std::string(kFilePrefix) + std::string(name) + std::string(kSuffix);
}

}  // namespace tangram::node
