#include "node/isolation/mps_daemon.hpp"

#include "base/file.hpp"

#include <spdlog/spdlog.h>

#include <charconv>
#include <filesystem>
#include <system_error>

namespace tangram::node {

namespace {

using namespace std::chrono_literals;

// Together with a second of polling below the 20 s that prepare() may take.
constexpr auto kAnswerLimit = 3s;
constexpr auto kStartLimit = 6s;
constexpr auto kQuitLimit = 5s;

constexpr const char* kControl = "nvidia-cuda-mps-control";
constexpr const char* kServer = "nvidia-cuda-mps-server";

std::int64_t number_in(const std::string& text) {
  std::int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

}  // namespace

MpsDaemon::MpsDaemon(const MpsSettings& settings, std::string card, Programs& programs)
    : settings_(settings),
      card_(std::move(card)),
      dir_(base_dir(settings) + "/" + card_),
      programs_(programs) {}

Command MpsDaemon::control(std::string input) const {
  return {{kControl}, {"CUDA_MPS_PIPE_DIRECTORY=" + pipe_dir()}, std::move(input)};
}

bool MpsDaemon::answers() {
  // The front end ends with 0 if it reached a daemon, whether a server runs yet or not.
  const auto end = programs_.run(control("get_server_list\n"), kAnswerLimit);
  return end && end->exit_code == 0;
}

Result<void> MpsDaemon::start() {
  std::error_code error;
  for (const std::string& folder : {pipe_dir(), dir_ + "/log"}) {
    std::filesystem::create_directories(folder, error);
    if (error) {
      return fail(Errc::kUnavailable, folder + " cannot be made: " + error.message());
    }
  }
  Command command;
  command.arguments = settings_.launcher;
  command.arguments.insert(command.arguments.end(), {kControl, "-d"});
  if (settings_.multiuser) command.arguments.emplace_back("-multiuser-server");
  command.env = {"CUDA_VISIBLE_DEVICES=" + card_, "CUDA_MPS_PIPE_DIRECTORY=" + pipe_dir(),
                 "CUDA_MPS_LOG_DIRECTORY=" + dir_ + "/log"};
  const auto end = programs_.run(command, kStartLimit);
  if (!end) {
    const bool missing = end.error().code == Errc::kNotFound;
    return fail(missing ? Errc::kInvalidArgument : Errc::kUnavailable, end.error().message);
  }
  if (end->exit_code == 0) return {};
  return fail(Errc::kUnavailable, "the MPS daemon of card " + card_ + " does not start: " +
                                      describe(command, *end) + "; see " + dir_ + "/log");
}

bool MpsDaemon::quit() {
  const auto end = programs_.run(control("quit\n"), kQuitLimit);
  return end && end->exit_code == 0;
}

void MpsDaemon::end_by_force(CardSource& source) {
  if (const auto text = read_file(pipe_dir() + "/nvidia-cuda-mps-control.pid")) {
    if (programs_.kill(number_in(*text), kControl)) {
      spdlog::warn("card {}: its MPS daemon did not answer and was killed", card_);
    }
  }
  const auto activity = source.activity(card_);
  if (!activity) return;
  for (const CardProcess& process : activity->processes) programs_.kill(process.pid, kServer);
}

void MpsDaemon::remove_folders() {
  std::error_code error;
  std::filesystem::remove_all(dir_, error);
  if (error) spdlog::warn("{} cannot be removed: {}", dir_, error.message());
}

}  // namespace tangram::node
