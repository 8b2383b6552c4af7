#include "node/vendor/nvidia/sm_chunks.hpp"

#include "base/file.hpp"
#include "base/one_line.hpp"
#include "model/compute_chunks.hpp"

#include <spdlog/spdlog.h>

#include <filesystem>
#include <sstream>
#include <string_view>
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

std::string probe_folder(const MpsSettings& settings, const std::string& card) {
  return settings.run_dir + "/mps-probe/" + card;
}

}  // namespace

SmChunks::SmChunks(MpsSettings settings, Programs& programs, const Clock& clock, Sleeper sleeper)
    : settings_(std::move(settings)),
      programs_(programs),
      clock_(clock),
      sleeper_(std::move(sleeper)) {}

int SmChunks::of(const std::string& card, const std::string& driver) {
  const std::lock_guard lock(mutex_);
  Answer& known = answers_[card];
  if (known.driver.empty()) known = recorded(card);
  const bool is_same = !known.driver.empty() && (driver.empty() || known.driver == driver);
  if (is_same && (known.settled || clock_.now() < known.ask_again)) return known.chunks;
  const auto chunks = ask(card);
  if (chunks) {
    known = {driver, *chunks, true, {}};
    record(card, known);
    spdlog::info("card {}: its compute divides into {} SM partitions at most", card, *chunks);
    return known.chunks;
  }
  known = {driver, is_same ? known.chunks : 0, chunks.error().code == Errc::kInvalidArgument,
           clock_.now() + kAskAgain};
  if (known.settled) known.chunks = 0;
  spdlog::error("card {}: {}, because its SM partitions are not known: {}", card,
                known.chunks > 0 ? "keeps its number of chunks" : "offers no MPS",
                chunks.error().message);
  return known.chunks;
}

/// "DRIVER CHUNKS"
SmChunks::Answer SmChunks::recorded(const std::string& card) const {
  const auto text = read_file(probe_folder(settings_, card) + ".chunks");
  if (!text) return {};
  std::istringstream words(*text);
  Answer answer;
  words >> answer.driver >> answer.chunks;
  answer.settled = answer.chunks > 0 && answer.chunks <= model::kMaxComputeChunks;
  return answer.settled ? answer : Answer();
}

void SmChunks::record(const std::string& card, const Answer& answer) const {
  if (answer.driver.empty()) return;
  const auto written = replace_file(probe_folder(settings_, card) + ".chunks",
                                    answer.driver + " " + std::to_string(answer.chunks) + "\n");
  if (!written) spdlog::warn("{}", written.error().message);
}

Result<int> SmChunks::ask(const std::string& card) {
  const std::string own = MpsFolders(settings_.run_dir, card).current();
  if (!own.empty() && SmPartitions::marked(own)) {
    const auto answer = control(own, "lspart\n");
    const auto table = answer ? parse_partition_table(answer->output, card) : std::nullopt;
    if (table) return static_cast<int>(table->chunks);
  }
  return ask_another(card);
}

Result<int> SmChunks::ask_another(const std::string& card) {
  const std::string folder = probe_folder(settings_, card);
  std::error_code error;
  // Of an agent that was killed while it asked.
  if (fs::exists(folder, error)) (void)control(folder, "quit\n");
  fs::remove_all(folder, error);
  for (const char* each : {"/pipe", "/log"}) {
    if (!fs::create_directories(folder + each, error)) {
      return fail(Errc::kUnavailable, folder + each + " cannot be made: " + error.message());
    }
  }
  auto chunks = start_and_ask(card, folder);
  // Also after a failure: one that started too slowly may listen now.
  (void)control(folder, "quit\n");
  fs::remove_all(folder, error);
  return chunks;
}

Result<int> SmChunks::start_and_ask(const std::string& card, const std::string& folder) {
  const MpsDaemonSpec spec{.card = card,
                           .pipe = folder + "/pipe",
                           .log = folder + "/log",
                           .shm = {},
                           .multiuser = settings_.multiuser,
                           .sm_partitions = true};
  const auto started =
      run_to_success(programs_, start_command(spec, settings_.launcher), kStartLimit,
                     "an MPS daemon with static SM partitioning does not start");
  if (!started) return fail(Errc::kUnavailable, started.error().message);
  const TimePoint end = clock_.now() + kListensAfterStart;
  auto answer = control(folder, "lspart\n");
  while (answer && answer->exit_code != 0 && clock_.now() < end) {
    sleeper_(kBetweenTries, {});
    answer = control(folder, "lspart\n");
  }
  if (!answer) return fail(Errc::kUnavailable, answer.error().message);
  const auto table = parse_partition_table(answer->output, card);
  if (table && table->chunks <= model::kMaxComputeChunks) return static_cast<int>(table->chunks);
  return fail(Errc::kInvalidArgument,
              "the MPS daemon lists none (driver r590 and Ampere or newer have them): " +
                  one_line(answer->output));
}

Result<ProgramEnd> SmChunks::control(const std::string& daemon_folder, const char* line) {
  const bool quit = std::string_view(line) == "quit\n";
  return programs_.run(control_command(daemon_folder, line), quit ? kQuitLimit : kAnswerLimit);
}

}  // namespace tangram::node::nvidia
