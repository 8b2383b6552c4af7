#include "tests/fake_mps/daemon.hpp"

#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <csignal>
#include <vector>

namespace tangram::fake_mps {
namespace {

const std::string kRefused = "error: unknown command or argument\n";

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  while (!line.empty()) {
    const std::size_t end = std::min(line.find_first_of(" \n"), line.size());
    if (end > 0) words.push_back(line.substr(0, end));
    line.remove_prefix(std::min(line.size(), end + 1));
  }
  return words;
}

template <class Number>
std::optional<Number> number(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value)
                                                                  : std::nullopt;
}

/// "8192M" or "8G"
std::optional<std::int64_t> mebibytes(std::string_view value) {
  constexpr std::int64_t kMebibytesPerGibibyte = 1024;
  if (value.empty()) return std::nullopt;
  const char unit = value.back();
  const auto count = number<std::int64_t>(value.substr(0, value.size() - 1));
  if (!count || (unit != 'M' && unit != 'G')) return std::nullopt;
  return unit == 'M' ? *count : *count * kMebibytesPerGibibyte;
}

bool set_memory(Limits& limits, std::string_view device, std::string_view value) {
  const auto memory = mebibytes(value);
  if (device != "0" || !memory) return false;
  limits.mebibytes = memory;
  return true;
}

bool set_percent(Limits& limits, std::string_view value) {
  const auto percent = number<int>(value);
  if (!percent) return false;
  limits.percent = *percent;
  return true;
}

}  // namespace

std::string Daemon::answer(std::string_view packet, bool privileged) {
  if (server_ != 0 && ::kill(server_, 0) != 0) server_ = 0;  // it was killed
  const auto words = words_of(packet);
  if (words.empty()) return kRefused;
  if (words[0] == "get_server_list") return server_ == 0 ? "" : std::to_string(server_) + "\n";
  if (words[0] == "client" && words.size() >= 3 && !privileged) {
    return admit_client(words[1], words[2], words.size() > 3 ? words[3] : "");
  }
  if (!privileged) return kRefused;
  if (words[0] == "get_default_active_thread_percentage") {
    return std::to_string(defaults_.percent) + "\n";
  }
  return divided_ && Partitions::takes(packet) ? partitions_.answer(packet) : command(packet);
}

std::string Daemon::command(std::string_view line) {
  const auto words = words_of(line);
  const auto is = [&](std::string_view name, std::size_t arguments) {
    return words[0] == name && words.size() == arguments + 1;
  };
  bool done = false;
  if (is("quit", 0)) {
    if (server_ != 0) ::kill(server_, SIGKILL);
    ended_ = done = true;
  } else if (is("start_server", 2)) {
    done = words[1] == "-uid";
    if (done) start_server();
  } else if (is("set_default_device_pinned_mem_limit", 2)) {
    done = set_memory(defaults_, words[1], words[2]);
  } else if (is("set_default_active_thread_percentage", 1)) {
    done = set_percent(defaults_, words[1]);
  } else if (is("set_device_pinned_mem_limit", 3)) {
    Limits* const limits = limits_of(words[1]);
    done = limits != nullptr && set_memory(*limits, words[2], words[3]);
  } else if (is("set_active_thread_percentage", 2)) {
    Limits* const limits = limits_of(words[1]);
    done = limits != nullptr && set_percent(*limits, words[2]);
  }
  return done ? "" : kRefused;
}

/// As driver r580 does: the smaller one of two limits counts, but a variable that names another
/// card than the daemon's first one, or nothing that it knows, lifts the limit.
std::string Daemon::admit_client(std::string_view memory, std::string_view percent,
                                 std::string_view partition) {
  if (divided_ && !partitions_.has(partition)) {
    return "error: CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION\n";
  }
  start_server();
  Limits limits = of_server_;
  constexpr std::string_view kFirstCard = "0=";
  if (memory != "-") {
    const bool is_ours = memory.starts_with(kFirstCard);
    const auto own = is_ours ? mebibytes(memory.substr(kFirstCard.size())) : std::nullopt;
    if (own) limits.mebibytes = std::min(limits.mebibytes.value_or(*own), *own);
    if (!own) limits.mebibytes.reset();
  }
  const auto own_percent = number<int>(percent);
  if (own_percent && !divided_) limits.percent = std::min(limits.percent, *own_percent);
  return "memory " + (limits.mebibytes ? std::to_string(*limits.mebibytes) : "none") + " compute " +
         std::to_string(limits.percent) + "\n";
}

Limits* Daemon::limits_of(std::string_view pid) {
  return server_ != 0 && number<pid_t>(pid) == server_ ? &of_server_ : nullptr;
}

void Daemon::start_server() {
  if (server_ != 0) return;
  of_server_ = defaults_;
  server_ = ::fork();
  if (server_ != 0) return;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::close_range(STDERR_FILENO + 1, ~0U, 0);  // the daemon's sockets
  ::prctl(PR_SET_NAME, "nvidia-cuda-mps-server");
  for (;;) ::pause();
}

}  // namespace tangram::fake_mps
