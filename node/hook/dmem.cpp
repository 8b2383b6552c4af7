#include "node/hook/dmem.hpp"

#include "base/file.hpp"
#include "base/number.hpp"
#include "base/quote.hpp"
#include "base/split.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

namespace tangram::node::hook {
namespace {

constexpr const char* kMax = "/dmem.max";
constexpr const char* kCurrent = "/dmem.current";
constexpr const char* kCapacity = "/dmem.capacity";
constexpr std::string_view kUnlimited = "max";

/// The value of a region in a file of one region a line; nothing if it is not there.
std::optional<std::string> value_of(std::string_view text, const std::string& region) {
  for (const std::string& line : split(text, '\n')) {
    const auto words = split(line, ' ');
    if (words.size() == 2 && words[0] == region) return words[1];
  }
  return std::nullopt;
}

/// @returns kNotFound if the file cannot be read, or says nothing of the region
Result<std::uint64_t> bytes_in(const std::string& file, const std::string& region) {
  const auto text = read_file(file);
  if (!text) return fail(Errc::kNotFound, text.error().message);
  const auto value = value_of(*text, region);
  if (value == kUnlimited) return kNoLimit;
  const auto bytes = parse_number<std::uint64_t>(value.value_or(""));
  if (bytes) return *bytes;
  return fail(Errc::kNotFound, file + " says nothing of the region " + quote_if_needed(region) +
                                   ": the card has gone; look at the kernel's log");
}

/// One write: the kernel takes a line as a whole or not at all.
/// @returns 0, or the system's error
int write_line(const std::string& path, const std::string& line) {
  // Never created: on cgroupfs a missing file is a missing controller.
  const int file = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (file < 0) return errno;
  const auto written = ::write(file, line.data(), line.size());
  const int error = written < 0 ? errno : written == std::ssize(line) ? 0 : EIO;
  ::close(file);
  return error;
}

}  // namespace

DmemLimiter::DmemLimiter(std::string root) : root_(std::move(root)) {}

Result<void> DmemLimiter::check(const std::string& cgroup, const std::string& region) {
  const auto capacities = read_file(root_ + kCapacity);
  if (!capacities) {
    return fail(Errc::kUnavailable,
                "the kernel has no dmem controller (" + root_ + kCapacity +
                    " cannot be read); it needs Linux 6.14 or newer with CONFIG_CGROUP_DMEM");
  }
  if (!value_of(*capacities, region)) {
    return fail(Errc::kNotFound, "no card has the region " + quote_if_needed(region) + "; " +
                                     root_ + kCapacity + " lists the regions of this node");
  }
  std::error_code ignored;
  if (std::filesystem::exists(cgroup + kMax, ignored)) return {};
  return fail(Errc::kUnavailable,
              "the dmem controller is not enabled in " + cgroup +
                  "; the runtime, or the node's owner, must write +dmem to cgroup.subtree_control "
                  "of every cgroup above it, from " +
                  root_ + " down");
}

Result<void> DmemLimiter::set(const std::string& cgroup, const MemoryLimit& limit) {
  const std::string line = limit.card + " " + std::to_string(bytes_of(limit.amount)) + "\n";
  const int error = write_line(cgroup + kMax, line);
  if (error == 0) return {};
  return fail(Errc::kUnavailable, "the kernel refuses " + to_string(limit.amount) + " of " +
                                      limit.card + " in " + cgroup + kMax + ": " +
                                      std::generic_category().message(error) +
                                      "; run this program as root, on the host");
}

Result<std::uint64_t> DmemLimiter::read(const std::string& cgroup, const std::string& region) {
  return bytes_in(cgroup + kMax, region);
}

Result<std::uint64_t> DmemLimiter::in_use(const std::string& cgroup, const std::string& region) {
  return bytes_in(cgroup + kCurrent, region);
}

}  // namespace tangram::node::hook
