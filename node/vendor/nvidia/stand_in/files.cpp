#include "node/vendor/nvidia/stand_in/files.hpp"

#include "base/file.hpp"
#include "base/sha256.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <string_view>
#include <system_error>

namespace tangram::node::nvidia {
namespace {

constexpr std::string_view kCuda = "libcuda.so.1";
constexpr std::string_view kNvml = "libnvidia-ml.so.1";

/// Enough of a hash that two versions never share a folder.
std::string name_of(const std::string& content) {
  std::string name;
  for (const char byte : sha256(content).substr(0, 8)) {
    name += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  }
  return name;
}

Result<void> put(const std::string& path, const std::string& content) {
  const auto there = read_file(path);
  if (there && *there == content) return {};
  return replace_file(path, content);
}

}  // namespace

Result<StandInPaths> install_stand_ins(const std::string& from, const std::string& folder) {
  const auto cuda = read_file(fmt::format("{}/{}", from, kCuda));
  if (!cuda) return cuda.error();
  const auto nvml = read_file(fmt::format("{}/{}", from, kNvml));
  if (!nvml) return nvml.error();
  const std::string version = folder + "/" + name_of(*cuda + *nvml);
  std::error_code failed;
  std::filesystem::create_directories(version, failed);
  if (failed) return fail(Errc::kUnavailable, "make " + version + ": " + failed.message());
  const StandInPaths paths{.cuda = fmt::format("{}/{}", version, kCuda),
                           .nvml = fmt::format("{}/{}", version, kNvml)};
  if (auto written = put(paths.cuda, *cuda); !written) return written.error();
  if (auto written = put(paths.nvml, *nvml); !written) return written.error();
  return paths;
}

}  // namespace tangram::node::nvidia
