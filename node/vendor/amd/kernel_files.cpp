#include "node/vendor/amd/kernel_files.hpp"

#include "base/file.hpp"
#include "base/number.hpp"
#include "base/quote.hpp"
#include "base/split.hpp"

#include <algorithm>
#include <filesystem>
#include <system_error>

namespace tangram::node::amd {

namespace fs = std::filesystem;

bool KernelFiles::has(const std::string& path) const {
  std::error_code ignored;
  return fs::exists(root_ + path, ignored);
}

Result<std::string> KernelFiles::text(const std::string& path) const {
  auto read = read_file(root_ + path);
  if (!read) {
    if (!has(path)) return fail(Errc::kNotFound, "there is no " + path);
    return fail(
        Errc::kUnavailable,
        path + " cannot be read; the card may be in a reset, or the agent lacks privileges");
  }
  if (read->ends_with('\n')) read->pop_back();
  return std::move(*read);
}

Result<std::uint64_t> KernelFiles::number(const std::string& path) const {
  const auto read = text(path);
  if (!read) return read.error();
  if (const auto value = parse_number<std::uint64_t>(*read)) return *value;
  return fail(Errc::kInvalidArgument, path + " has no number but " + quote(*read));
}

Result<Properties> KernelFiles::properties(const std::string& path) const {
  const auto read = text(path);
  if (!read) return read.error();
  Properties properties;
  for (const std::string& line : split(*read, '\n')) {
    const auto words = split(line, ' ');
    if (words.size() != 2) {
      return fail(Errc::kInvalidArgument, path + " has no name and value but " + quote(line));
    }
    if (const auto value = parse_number<std::uint64_t>(words[1])) properties[words[0]] = *value;
  }
  return properties;
}

std::vector<std::string> KernelFiles::names_in(const std::string& path) const {
  std::vector<std::string> names;
  std::error_code failed;
  fs::directory_iterator at(root_ + path, failed);
  for (const fs::directory_iterator end; !failed && at != end; at.increment(failed)) {
    names.push_back(at->path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string KernelFiles::target_of(const std::string& path) const {
  std::error_code failed;
  const fs::path target = fs::read_symlink(root_ + path, failed);
  return failed ? "" : target.filename().string();
}

Result<std::uint64_t> value_of(const Properties& properties, std::string_view name,
                               const std::string& file) {
  const auto found = properties.find(name);
  if (found != properties.end()) return found->second;
  return fail(Errc::kInvalidArgument, file + " has no number " + std::string(name));
}

}  // namespace tangram::node::amd
