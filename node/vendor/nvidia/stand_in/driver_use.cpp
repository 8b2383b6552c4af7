#include "node/vendor/nvidia/stand_in/driver_use.hpp"

#include "node/container/mapped_libraries.hpp"
#include "shim/pages.hpp"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <vector>

namespace tangram::node::nvidia {

Result<void> DriverUse::find_stand_ins() {
  if (!stand_ins_.empty()) return {};
  std::error_code failed;
  for (const auto& version : std::filesystem::directory_iterator(folder_, failed)) {
    const auto library = version.path() / "libcuda.so.1";
    std::error_code ignored;
    if (!std::filesystem::is_regular_file(library, ignored)) continue;
    auto identity = mapped_identity(library);
    if (!identity) return identity.error();
    stand_ins_.insert(std::move(*identity));
  }
  if (!stand_ins_.empty()) return {};
  return fail(Errc::kUnavailable, folder_ + ": there are no stand-in libraries");
}

Result<std::string> DriverUse::without_stand_in(std::int64_t pid) {
  const auto mapped = mapped_libraries(proc_ + "/" + std::to_string(pid) + "/maps", "libcuda.so");
  if (!mapped) return mapped.error();
  const std::lock_guard lock(mutex_);
  if (auto found = find_stand_ins(); !found) return found.error();
  const auto is_stand_in = [&](const MappedFile& file) {
    return stand_ins_.contains(file.identity);
  };
  const bool has_stand_in = std::any_of(mapped->begin(), mapped->end(), is_stand_in);
  for (const MappedFile& file : *mapped) {
    // The stand-in has loaded the driver's own.
    const bool is_behind = has_stand_in && file.path == shim::kCudaPath;
    if (!is_behind && !is_stand_in(file)) return file.path;
  }
  return std::string();
}

}  // namespace tangram::node::nvidia
