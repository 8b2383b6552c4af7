#include "node/vendor/nvidia/sm_chunks.hpp"

#include "base/one_line.hpp"
#include "model/compute_chunks.hpp"

#include <spdlog/spdlog.h>

#include <filesystem>
#include <system_error>
#include <utility>

namespace tangram::node::nvidia {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

constexpr auto kAskAgain = 5min;  // the operator installs another driver, or corrects the launcher
constexpr auto kStartLimit = 4s;
constexpr auto kAnswerLimit = 10s;  // the first one initialises CUDA: seconds with many cards
constexpr auto kQuitLimit = 5s;
constexpr auto kListensAfterStart = 4s;
constexpr auto kBetweenTries = 200ms;

}  // namespace

SmChunks::SmChunks(MpsSettings settings, Programs& programs, const Clock& clock, Sleeper sleeper)
    : settings_(std::move(settings)),
      programs_(programs),
      clock_(clock),
      sleeper_(std::move(sleeper)) {}

int SmChunks::of(const std::string& card, const std::string& driver) {
  const std::lock_guard lock(mutex_);
  Answer& known = answers_[card];
  const bool asked = known.driver == driver && known.ask_again != TimePoint();
  if (asked && (known.chunks > 0 || clock_.now() < known.ask_again)) return known.chunks;
  const auto chunks = ask(card);
  known = {driver, chunks ? *chunks : 0, clock_.now() + kAskAgain};
  if (chunks) {
    spdlog::info("card {}: its compute divides into {} SM partitions at most", card, *chunks);
  } else {
    spdlog::error("card {}: offers no MPS, because it has no SM partitions: {}", card,
                  chunks.error().message);
  }
  return known.chunks;
}

Result<int> SmChunks::ask(const std::string& card) {
  const std::string folder = settings_.run_dir + "/mps-probe/" + card;
  std::error_code error;
  // Of an agent that was killed while it asked.
  if (fs::exists(folder, error)) (void)control(folder, "quit\n");
  fs::remove_all(folder, error);
  for (const char* each : {"/pipe", "/log"}) {
    if (!fs::create_directories(folder + each, error)) {
      return fail(Errc::kUnavailable, folder + each + " cannot be made: " + error.message());
    }
  }
  const auto chunks = ask_daemon(card, folder);
  fs::remove_all(folder, error);
  return chunks;
}

Result<int> SmChunks::ask_daemon(const std::string& card, const std::string& folder) {
  const MpsDaemonSpec spec{.card = card,
                           .pipe = folder + "/pipe",
                           .log = folder + "/log",
                           .shm = {},
                           .multiuser = settings_.multiuser,
                           .sm_partitions = true};
  auto started = run_to_success(programs_, start_command(spec, settings_.launcher), kStartLimit,
                                "an MPS daemon with static SM partitioning does not start");
  if (!started) return started.error();
  const TimePoint end = clock_.now() + kListensAfterStart;
  auto answer = control(folder, "lspart\n");
  while (answer && answer->exit_code != 0 && clock_.now() < end) {
    sleeper_(kBetweenTries, {});
    answer = control(folder, "lspart\n");
  }
  (void)control(folder, "quit\n");
  if (!answer) return answer.error();
  const auto table = parse_partition_table(answer->output, card);
  if (table && table->chunks <= model::kMaxComputeChunks) return static_cast<int>(table->chunks);
  return fail(Errc::kInvalidArgument,
              "the MPS daemon lists none (driver r590 and Ampere or newer have them): " +
                  one_line(answer->output));
}

Result<ProgramEnd> SmChunks::control(const std::string& folder, const char* line) {
  const bool quit = std::string_view(line) == "quit\n";
  return programs_.run(
      {{"nvidia-cuda-mps-control"}, {"CUDA_MPS_PIPE_DIRECTORY=" + folder + "/pipe"}, line},
      quit ? kQuitLimit : kAnswerLimit);
}

}  // namespace tangram::node::nvidia
