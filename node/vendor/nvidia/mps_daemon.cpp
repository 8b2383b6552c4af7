#include "node/vendor/nvidia/mps_daemon.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <system_error>

namespace tangram::node::nvidia {

namespace {

using namespace std::chrono_literals;

// Together with a second of polling below the 20 s that prepare() may take.
constexpr auto kAnswerLimit = 3s;
constexpr auto kStartLimit = 4s;
constexpr auto kQuitLimit = 5s;
constexpr auto kCommandLimit = 1s;    // three of them set the limits, or two with a server's start
constexpr auto kPartitionLimit = 2s;  // the first one initialises CUDA

constexpr const char* kControl = "nvidia-cuda-mps-control";
constexpr const char* kServer = "nvidia-cuda-mps-server";

/// @returns 0 if there is none. Clients could write to an earlier version's folder: a FIFO would
///          not be opened before somebody writes to it, and a link may lead to /dev/zero.
std::int64_t pid_in(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (file < 0) return 0;
  std::array<char, 32> text{};  // a number of at most 19 digits and a line end
  struct stat about {};
  const bool is_file = ::fstat(file, &about) == 0 && S_ISREG(about.st_mode);
  const ssize_t size = is_file ? ::read(file, text.data(), text.size()) : 0;
  ::close(file);
  std::int64_t number = 0;
  if (size > 0) std::from_chars(text.data(), text.data() + size, number);
  return number;
}

std::string pipe_variable(const std::string& daemon) {
  return "CUDA_MPS_PIPE_DIRECTORY=" + daemon + "/pipe";
}

/// Runs a program with the folder $0 as its /dev/shm.
constexpr const char* kWithOwnShm =
    "mount --make-rprivate / && mount --bind \"$0\" /dev/shm && exec \"$@\"";

}  // namespace

std::vector<std::string> environment_of(const MpsDaemonSpec& spec) {
  return {"CUDA_VISIBLE_DEVICES=" + spec.card, "CUDA_MPS_PIPE_DIRECTORY=" + spec.pipe,
          "CUDA_MPS_LOG_DIRECTORY=" + spec.log};
}

Command start_command(const MpsDaemonSpec& spec, const std::vector<std::string>& launcher) {
  Command command{launcher, environment_of(spec), ""};
  auto& arguments = command.arguments;
  if (!spec.shm.empty()) {
    arguments.insert(arguments.end(), {"unshare", "--mount", "sh", "-c", kWithOwnShm, spec.shm});
  }
  arguments.insert(arguments.end(), {kControl, "-d"});
  if (spec.multiuser) arguments.emplace_back("-multiuser-server");
  if (spec.sm_partitions) arguments.emplace_back("-S");
  return command;
}

Command control_command(const std::string& daemon_folder, std::string lines) {
  return {{kControl}, {pipe_variable(daemon_folder)}, std::move(lines)};
}

MpsLimits mps_limits(Mebibytes memory, MilliGpu compute) {
  constexpr std::int64_t kMilliPerPercent = 10;
  const auto rounded = [](std::int64_t value) {
    constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
    return static_cast<std::int32_t>(std::clamp<std::int64_t>(value, 1, kMost));
  };
  return {rounded(memory.count()), rounded(compute.count() / kMilliPerPercent)};
}

std::vector<std::int64_t> parse_server_pids(std::string_view answer) {
  constexpr std::size_t kMost = 48;  // servers: one for each user, so at most one for each sharer
  std::vector<std::int64_t> pids;
  while (!answer.empty() && pids.size() < kMost) {
    const std::string_view line = answer.substr(0, answer.find('\n'));
    answer.remove_prefix(std::min(answer.size(), line.size() + 1));
    std::int64_t pid = 0;
    const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), pid);
    if (error == std::errc() && end == line.data() + line.size() && pid > 0) pids.push_back(pid);
  }
  return pids;
}

MpsDaemon::MpsDaemon(const MpsSettings& settings, std::string card, Programs& programs)
    : settings_(settings),
      card_(std::move(card)),
      programs_(programs),
      folders_(settings.run_dir, card_),
      shm_(programs, settings.launcher, folders_.shm()),
      daemon_(folders_.current()) {}

Result<ProgramEnd> MpsDaemon::control(std::string input, std::chrono::milliseconds limit) {
  return programs_.run(control_command(daemon_, std::move(input)), limit);
}

MpsDaemon::Liveness MpsDaemon::check() {
  if (daemon_.empty()) return Liveness::kAbsent;
  // The front end exits with 0 if it reached a daemon, even without a server.
  const auto end = control("get_server_list\n", kAnswerLimit);
  if (!end) return end.error().code == Errc::kNotFound ? Liveness::kCannotAsk : Liveness::kUnknown;
  if (end->exit_code != 0) return Liveness::kAbsent;
  return parse_server_pids(end->output).empty() ? Liveness::kWithoutServer : Liveness::kServing;
}

Result<void> MpsDaemon::start() {
  const auto made = folders_.make_daemon();
  if (!made) return made.error();
  daemon_ = *made;
  MpsDaemonSpec spec{.card = card_,
                     .pipe = daemon_ + "/pipe",
                     .log = daemon_ + "/log",
                     .shm = {},
                     .multiuser = settings_.multiuser,
                     .sm_partitions = settings_.sm_partitions};
  if (settings_.sm_partitions) {
    if (auto marked = SmPartitions::mark(daemon_); !marked) return marked;
  }
  if (settings_.own_shm) {
    spec.shm = folders_.shm();
    if (auto mounted = shm_.mount(shm_bound(*settings_.sharers)); !mounted) return mounted;
  }
  constexpr int kNotFound = 127;  // of the shell and of the launcher
  return run_to_success(programs_, start_command(spec, settings_.launcher), kStartLimit,
                        "the MPS daemon of card " + card_ + " does not start, see " + spec.log,
                        kNotFound);
}

Result<ProgramEnd> MpsDaemon::command(const std::string& lines) {
  auto end = control(lines, kCommandLimit);
  if (end && end->exit_code == 0) return end;
  return fail(Errc::kUnavailable,
              "the MPS daemon of card " + card_ + " takes no limits: " +
                  (end ? describe({{kControl}, {}, {}}, *end) : end.error().message));
}

Result<void> MpsDaemon::hold(const MpsLimits& limits) {
  // First for servers that start later: one that starts between the two commands has these.
  const bool memory = settings_.memory_limits;
  const bool compute = !settings_.sm_partitions;  // which take the place of percentages
  if (!memory && !compute) return {};
  std::string defaults;
  if (memory) {
    defaults = fmt::format("set_default_device_pinned_mem_limit 0 {}M\n", limits.mebibytes);
  }
  if (compute) {
    defaults += fmt::format("set_default_active_thread_percentage {}\n", limits.percent);
  }
  if (auto set = command(defaults); !set) return set.error();
  const auto servers = command("get_server_list\n");
  if (!servers) return servers.error();
  std::string lines;
  for (const std::int64_t pid : parse_server_pids(servers->output)) {
    if (memory) {
      lines += fmt::format("set_device_pinned_mem_limit {} 0 {}M\n", pid, limits.mebibytes);
    }
    if (compute) lines += fmt::format("set_active_thread_percentage {} {}\n", pid, limits.percent);
  }
  if (lines.empty()) return {};
  const auto set = command(lines);
  return set ? Result<void>() : set.error();
}

SmPartitions MpsDaemon::partitions() {
  return {daemon_, card_, [this](const std::string& line) -> Result<std::string> {
            const auto end = control(line + "\n", kPartitionLimit);
            if (end) return end->output;
            return fail(Errc::kUnavailable, end.error().message);
          }};
}

bool MpsDaemon::divides_as_set() const {
  return SmPartitions::marked(daemon_) == settings_.sm_partitions;
}

Result<void> MpsDaemon::start_server() {
  // The front end may wait for a server that wakes its card up.
  const auto end = control("start_server -uid 0\n", kCommandLimit);
  if (end ? end->exit_code == 0 : end.error().code == Errc::kTimeout) return {};
  return fail(Errc::kUnavailable,
              "the MPS daemon of card " + card_ + " starts no server: " +
                  (end ? describe({{kControl}, {}, {}}, *end) : end.error().message));
}

Result<void> MpsDaemon::open_to_clients() {
  if (folders_.current() == daemon_) return {};
  // A partition's name in a running container would be another container's with this daemon.
  return folders_.make_current(daemon_, !settings_.sm_partitions);
}

bool MpsDaemon::quit() {
  if (daemon_.empty()) return false;
  const auto end = control("quit\n", kQuitLimit);
  return end && end->exit_code == 0;
}

Result<void> MpsDaemon::remove() {
  if (settings_.own_shm) {
    if (auto unmounted = shm_.unmount(); !unmounted) return unmounted;
  }
  folders_.remove();
  daemon_.clear();
  return {};
}

void MpsDaemon::force_end(CardSource& source) {
  auto daemons = folders_.daemons();
  if (auto former = folders_.former(); !former.empty()) daemons.push_back(std::move(former));
  for (const std::string& daemon : daemons) {
    const auto pid = pid_in(daemon + "/pipe/nvidia-cuda-mps-control.pid");
    if (programs_.kill(pid, kControl, pipe_variable(daemon))) {
      spdlog::warn("card {}: its MPS daemon did not answer and was killed", card_);
    }
  }
  const auto activity = source.activity(card_);
  if (!activity) return;
  for (const CardProcess& process : activity->processes) {
    for (const std::string& daemon : daemons) {
      programs_.kill(process.pid, kServer, pipe_variable(daemon));
    }
  }
}

}  // namespace tangram::node::nvidia
