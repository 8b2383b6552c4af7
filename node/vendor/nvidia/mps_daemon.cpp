#include "node/vendor/nvidia/mps_daemon.hpp"

#include <fcntl.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <filesystem>
#include <system_error>

namespace tangram::node::nvidia {

namespace {

using namespace std::chrono_literals;

// Together with a second of polling below the 20 s that prepare() may take.
constexpr auto kAnswerLimit = 3s;
constexpr auto kStartLimit = 6s;
constexpr auto kQuitLimit = 5s;

constexpr const char* kControl = "nvidia-cuda-mps-control";
constexpr const char* kServer = "nvidia-cuda-mps-server";

/// The number in a file of the daemon's. Clients can write in its folder, too, so only a small
/// regular file of our own user is read, and no link, pipe or device is opened.
std::int64_t pid_in(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (file < 0) return 0;
  std::array<char, 32> text{};
  std::int64_t number = 0;
  struct stat info {};
  if (fstat(file, &info) == 0 && S_ISREG(info.st_mode) && info.st_uid == geteuid()) {
    const auto length = read(file, text.data(), text.size());
    if (length > 0) std::from_chars(text.data(), text.data() + length, number);
  }
  close(file);
  return number;
}

/// Runs a program with the folder $0 as its /dev/shm.
constexpr const char* kWithOwnShm =
    "mount --make-rprivate / && mount --bind \"$0\" /dev/shm && exec \"$@\"";

}  // namespace

MpsDaemon::MpsDaemon(const MpsSettings& settings, std::string card, Programs& programs)
    : settings_(settings),
      card_(std::move(card)),
      dir_(base_dir(settings) + "/" + card_),
      programs_(programs) {}

Command MpsDaemon::control(std::string input) const {
  return {{kControl}, {"CUDA_MPS_PIPE_DIRECTORY=" + pipe_dir()}, std::move(input)};
}

MpsDaemon::Liveness MpsDaemon::check() {
  // The front end exits with 0 if it reached a daemon, even without a server.
  const auto end = programs_.run(control("get_server_list\n"), kAnswerLimit);
  if (!end) return end.error().code == Errc::kNotFound ? Liveness::kAbsent : Liveness::kUnknown;
  return end->exit_code == 0 ? Liveness::kRunning : Liveness::kAbsent;
}

bool MpsDaemon::has_folders() const {
  std::error_code ignored;
  return std::filesystem::exists(dir_, ignored);
}

Result<void> MpsDaemon::start() {
  namespace fs = std::filesystem;
  std::error_code error;
  const std::string shm = shm_dir(settings_);
  for (const std::string& folder : {pipe_dir(), dir_ + "/log", shm}) {
    fs::create_directories(folder, error);
    if (error) {
      return fail(Errc::kUnavailable, folder + " cannot be created: " + error.message());
    }
  }
  // As /dev/shm: every user may create files, and remove the own ones.
  fs::permissions(shm, fs::perms::all | fs::perms::sticky_bit, error);
  // Clients may have created files here, which the daemon must not open.
  for (const auto& left : fs::directory_iterator(pipe_dir(), error)) fs::remove_all(left, error);
  Command command;
  command.arguments = settings_.launcher;
  if (settings_.own_shm) {
    command.arguments.insert(command.arguments.end(),
                             {"unshare", "--mount", "sh", "-c", kWithOwnShm, shm});
  }
  command.arguments.insert(command.arguments.end(), {kControl, "-d"});
  if (settings_.multiuser) command.arguments.emplace_back("-multiuser-server");
  command.env = {"CUDA_VISIBLE_DEVICES=" + card_, "CUDA_MPS_PIPE_DIRECTORY=" + pipe_dir(),
                 "CUDA_MPS_LOG_DIRECTORY=" + dir_ + "/log"};
  constexpr int kNotFound = 127;  // of the shell and of the launcher
  return run_to_success(programs_, command, kStartLimit,
                        "the MPS daemon of card " + card_ + " does not start, see " + dir_ + "/log",
                        kNotFound);
}

bool MpsDaemon::quit() {
  const auto end = programs_.run(control("quit\n"), kQuitLimit);
  return end && end->exit_code == 0;
}

void MpsDaemon::force_end(CardSource& source) {
  const std::string ours = "CUDA_MPS_PIPE_DIRECTORY=" + pipe_dir();
  if (programs_.kill(pid_in(pipe_dir() + "/nvidia-cuda-mps-control.pid"), kControl, ours)) {
    spdlog::warn("card {}: its MPS daemon did not answer and was killed", card_);
  }
  const auto activity = source.activity(card_);
  if (!activity) return;
  for (const CardProcess& process : activity->processes) {
    programs_.kill(process.pid, kServer, ours);
  }
}

void MpsDaemon::remove_folders() {
  std::error_code error;
  std::filesystem::remove_all(dir_, error);
  if (error) spdlog::warn("{} cannot be removed: {}", dir_, error.message());
}

}  // namespace tangram::node::nvidia
