#include "node/kubelet/registrar.hpp"

#include "base/sleeper.hpp"

#include <spdlog/spdlog.h>
#include <sys/stat.h>

#include <algorithm>
#include <memory>
#include <utility>

namespace tangram::node {
namespace {

using std::chrono::milliseconds;
using Steady = std::chrono::steady_clock;

constexpr milliseconds kCheckInterval{1'000};
// Kubelet connects to the plugin's socket, for up to 10 s, before it answers.
constexpr milliseconds kRegisterLimit{15'000};
// From kubelet's answer to its ListAndWatch, which follows directly.
constexpr milliseconds kUntilWatched{2'000};
constexpr milliseconds kFirstBackoff{20};
constexpr milliseconds kLongestBackoff{1'000};

std::optional<FileId> file_id(const std::string& path) {
  struct stat info {};
  if (stat(path.c_str(), &info) != 0) return std::nullopt;
  constexpr std::int64_t kNanoseconds = 1'000'000'000;
  return FileId{info.st_ino, info.st_mtim.tv_sec * kNanoseconds + info.st_mtim.tv_nsec};
}

}  // namespace

Registrar::Registrar(PluginPaths paths, std::string resource, DevicePlugin& plugin,
                     OpenWatch open_watch)
    : paths_(std::move(paths)),
      resource_(std::move(resource)),
      plugin_(plugin),
      open_watch_(std::move(open_watch)) {}

void Registrar::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    auto opened = open_watch_(paths_.folder);
    if (opened) {
      follow(std::move(*opened), stop);
    } else {
      step_unwatched(opened.error());
      sleep_until_stopped(kCheckInterval, stop);
    }
  }
  plugin_.stop();
}

/// Until stop, or until the folder is gone.
void Registrar::follow(FolderWatch opened, const std::stop_token& stop) {
  watch_problem_.clear();
  // Shared with a call-back that may be under way when this ends.
  const auto watch = std::make_shared<FolderWatch>(std::move(opened));
  const std::stop_callback wake_at_stop(stop, [watch] { watch->wake(); });
  plugin_.on_unwatched([watch] { watch->wake(); });
  while (!stop.stop_requested() && file_id(paths_.folder)) {
    step();
    const auto now = Steady::now();
    const bool retrying = backoff_ > milliseconds{} && not_before_ > now;
    watch->wait(retrying ? std::chrono::ceil<milliseconds>(not_before_ - now) : kCheckInterval);
  }
  plugin_.on_unwatched(nullptr);
}

void Registrar::step_unwatched(const Error& why) {
  const bool is_there = file_id(paths_.folder).has_value();
  if (why.message != watch_problem_) {
    spdlog::warn("{}{}", why.message,
                 is_there ? "; checking it every second instead, so that a restart of kubelet is "
                            "noticed later"
                          : "");
  }
  watch_problem_ = why.message;
  if (is_there) step();
}

bool Registrar::own_socket_is_there() const {
  return own_socket_ && file_id(paths_.socket()) == own_socket_;
}

void Registrar::step() {
  if (!own_socket_is_there() && !serve_again()) return;
  const auto kubelet = file_id(paths_.kubelet_socket());
  if (!kubelet) {
    backoff_ = {};
    return;  // not running; its start is a change of the folder
  }
  // A killed kubelet leaves its socket, so the backoff may be long; a new kubelet admits its pods
  // now and must not wait.
  if (kubelet != last_socket_) backoff_ = {};
  last_socket_ = kubelet;
  const bool fresh = kubelet != kubelet_socket_;
  if (!fresh && plugin_.watched()) {
    backoff_ = {};
    return;
  }
  // Registers with a new kubelet at once, and after a pause with one that ended the stream: it may
  // still be ending the old one, and would end the new one with it.
  if (backoff_ == milliseconds{}) {
    not_before_ = fresh ? Steady::now() : Steady::now() + kCheckInterval;
    backoff_ = fresh ? kFirstBackoff : kLongestBackoff;
  }
  if (Steady::now() >= not_before_) register_with(*kubelet);
}

/// @returns whether it serves on its own socket now
bool Registrar::serve_again() {
  const auto served = plugin_.serve(paths_.socket());
  own_socket_ = file_id(paths_.socket());
  kubelet_socket_.reset();
  if (!served) spdlog::error("{}", served.error().message);
  return served.has_value();
}

void Registrar::register_with(const FileId& kubelet) {
  const auto registered = register_plugin(paths_, resource_, kRegisterLimit);
  if (registered && plugin_.wait_until_watched(kUntilWatched)) {
    kubelet_socket_ = kubelet;
    backoff_ = {};
    problem_.clear();
    ++registrations_;
    spdlog::info("kubelet has registered {}", resource_);
    return;
  }
  const std::string problem = registered
                                  ? "kubelet registered the plugin and does not open a stream"
                                  : registered.error().message;
  if (problem != problem_) spdlog::warn("{}; trying again", problem);
  problem_ = problem;
  not_before_ = Steady::now() + backoff_;
  backoff_ = std::min(backoff_ * 2, kLongestBackoff);
}

}  // namespace tangram::node
