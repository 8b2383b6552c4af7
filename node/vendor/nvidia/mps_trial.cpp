#include "node/vendor/nvidia/mps_trial.hpp"

#include <spdlog/spdlog.h>

#include <chrono>

namespace tangram::node::nvidia {

namespace {

using namespace std::chrono_literals;

/// As long as a daemon may take to answer.
constexpr auto kLimit = 3s;
/// From here on the code is a launcher's or a shell's: the program was not run.
constexpr int kNotRun = 125;

}  // namespace

/// The front end says that it finds no daemon, because there is none in this folder.
bool MpsTrial::works() {
  const std::lock_guard lock(mutex_);
  if (works_) return true;
  Command command{
      launcher_, {"CUDA_MPS_PIPE_DIRECTORY=" + run_dir_ + "/no-daemon"}, "get_server_list\n"};
  command.arguments.emplace_back("nvidia-cuda-mps-control");
  const auto end = programs_.run(command, kLimit);
  works_ = end && end->exit_code < kNotRun;
  std::string problem = works_ ? "" : end ? describe(command, *end) : end.error().message;
  if (problem != problem_ && !works_) {
    spdlog::warn("the node does not offer MPS yet: {}", problem);
  } else if (works_ && !problem_.empty()) {
    spdlog::info("the node offers MPS now");
  }
  problem_ = std::move(problem);
  return works_;
}

}  // namespace tangram::node::nvidia
