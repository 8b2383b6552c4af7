#include "node/container/host_files.hpp"

#include "base/file.hpp"
#include "base/sha256.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <system_error>
#include <utility>

namespace tangram::node {
namespace {

struct File {
  std::string name;
  std::string content;
};

/// Enough of a hash that two versions never share a folder.
std::string version_of(const std::vector<File>& files) {
  std::string all;
  for (const File& file : files) all += file.name + '\0' + sha256(file.content);
  std::string version;
  for (const char byte : sha256(all).substr(0, 8)) {
    version += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  }
  return version;
}

Result<void> put(const std::string& path, const std::string& content) {
  const auto there = read_file(path);
  if (there && *there == content) return {};
  if (auto written = replace_file(path, content); !written) return written;
  std::error_code failed;
  using std::filesystem::perms;
  constexpr perms kReadAndExecute = perms::owner_read | perms::owner_exec | perms::group_read |
                                    perms::group_exec | perms::others_read | perms::others_exec;
  std::filesystem::permissions(path, kReadAndExecute, failed);
  return failed ? Result<void>(fail(Errc::kUnavailable, path + ": " + failed.message()))
                : Result<void>{};
}

}  // namespace

Result<std::string> install_on_host(const std::vector<std::string>& from,
                                    const std::string& folder) {
  std::vector<File> files;
  for (const std::string& path : from) {
    auto content = read_file(path);
    if (!content) return content.error();
    files.push_back({std::filesystem::path(path).filename(), std::move(*content)});
  }
  const std::string version = folder + "/" + version_of(files);
  std::error_code failed;
  std::filesystem::create_directories(version, failed);
  if (failed) return fail(Errc::kUnavailable, "make " + version + ": " + failed.message());
  for (const File& file : files) {
    if (auto written = put(version + "/" + file.name, file.content); !written) {
      return written.error();
    }
  }
  return version;
}

}  // namespace tangram::node
