#include "node/vendor/nvidia/mps_shm.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <system_error>
#include <utility>

namespace tangram::node::nvidia {
namespace {

using namespace std::chrono_literals;

/// The /dev/shm that containerd and CRI-O give to a container, and that this one replaces.
constexpr std::int64_t kMebibytesOfSharer = 64;
/// A data loader with 64 workers has some hundreds.
constexpr std::int64_t kFilesOfSharer = 1024;

/// Whether the folder $0 is a mount point: the fifth field of a line, after four others. Exit code
/// 1 means "no" to grep and "it failed" to the launcher, as to older versions of mountpoint(1), so
/// the answers have codes of their own.
constexpr const char* kIsMounted =
    "grep -Eq \"^([^ ]+ ){4}$0 \" /proc/self/mountinfo; exit $((64 + $?))";
constexpr int kMounted = 64;
constexpr int kNotMounted = 65;

constexpr int kNotFound = 127;  // of the launcher and of the shell

constexpr auto kMountLimit = 1s;  // of each program: they change a table of the kernel

}  // namespace

ShmBound shm_bound(int sharers_per_card) {
  return {kMebibytesOfSharer * sharers_per_card, kFilesOfSharer * sharers_per_card};
}

MpsShm::MpsShm(Programs& programs, std::vector<std::string> launcher, std::string folder)
    : programs_(programs), launcher_(std::move(launcher)), folder_(std::move(folder)) {}

Command MpsShm::command(const std::vector<std::string>& arguments) const {
  Command command{launcher_, {}, {}};
  command.arguments.insert(command.arguments.end(), arguments.begin(), arguments.end());
  return command;
}

Result<bool> MpsShm::is_mounted() {
  const Command asking = command({"sh", "-c", kIsMounted, folder_});
  const auto end = programs_.run(asking, kMountLimit);
  if (end && end->exit_code == kMounted) return true;
  if (end && end->exit_code == kNotMounted) return false;
  const bool absent = end ? end->exit_code == kNotFound : end.error().code == Errc::kNotFound;
  return fail(absent ? Errc::kInvalidArgument : Errc::kUnavailable,
              "it is not known whether " + folder_ +
                  " is mounted: " + (end ? describe(asking, *end) : end.error().message));
}

Result<void> MpsShm::mount(const ShmBound& bound) {
  std::error_code error;
  std::filesystem::create_directories(folder_, error);
  if (error) return fail(Errc::kUnavailable, folder_ + " cannot be made: " + error.message());
  const auto mounted = is_mounted();
  if (!mounted) return mounted.error();
  if (*mounted) return {};
  const std::string options = fmt::format("mode=1777,size={}m,nr_inodes={},nosuid,nodev,noexec",
                                          bound.mebibytes, bound.files);
  return run_to_success(programs_,
                        command({"mount", "-t", "tmpfs", "-o", options, "tangram-mps", folder_}),
                        kMountLimit, folder_ + " cannot be mounted", kNotFound);
}

Result<void> MpsShm::unmount() {
  const auto mounted = is_mounted();
  if (!mounted) return mounted.error();
  if (!*mounted) return {};
  return run_to_success(programs_, command({"umount", "--lazy", folder_}), kMountLimit,
                        folder_ + " stays mounted");
}

}  // namespace tangram::node::nvidia
