// kubectl-tangram: wiring only.

#include "base/clock.hpp"
#include "base/one_line.hpp"
#include "base/sleeper.hpp"
#include "cli/commands.hpp"
#include "cli/completion/completion.hpp"
#include "cli/log.hpp"
#include "cli/options.hpp"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <chrono>
#include <exception>
#include <iostream>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace tangram;

constexpr std::chrono::seconds kWatchInterval{2};
/// Moves to the top left and clears the screen.
constexpr const char* kClear = "\x1b[H\x1b[2J";

/// Warnings of the ledger go to standard error, apart from the output.
void log_to_stderr() {
  auto logger = spdlog::stderr_logger_st(cli::kProgram);
  logger->set_formatter(cli::log_formatter());
  logger->set_level(spdlog::level::warn);
  spdlog::set_default_logger(std::move(logger));
}

void print_error(std::string_view message) {
  std::cerr << cli::kProgram << ": " << one_line(message) << "\n";
}

int print(const Result<cli::CommandResult>& result, const cli::Screen& screen, bool clear) {
  if (!result) {
    print_error(result.error().message);
    return result.error().code == Errc::kInvalidArgument ? cli::kBadUsage : cli::kFailed;
  }
  std::cerr << cli::without_controls(result->notes, false) << std::flush;
  const bool as_it_is = result->is_document && !screen.is_terminal;
  std::cout << (clear ? kClear : "")
            << (as_it_is ? result->text : cli::without_controls(result->text, screen.style.colour))
            << std::flush;
  return result->exit;
}

int run(const cli::Options& options) {
  const SystemClock clock;
  const cli::Screen screen = cli::screen_of_stdout();
  cli::Commands commands(options, screen, process_environment, clock);
  if (!options.watch) return print(commands.run(), screen, false);
  for (;;) {
    const int ended = print(commands.run(), screen, screen.is_terminal);
    if (ended == cli::kFailed || ended == cli::kBadUsage) return ended;
    tangram::sleep_until_stopped(kWatchInterval, std::stop_token());
  }
}

}  // namespace

int main(int argc, char** argv) try {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  log_to_stderr();
  if (!arguments.empty() && arguments.front() == cli::kCompleteCommand) {
    const SystemClock clock;
    std::cout << cli::completion_answer(
        {arguments.begin() + 1, arguments.end()}, [&](const cli::NamesQuery& query) {
          return cli::names_in_cluster(query, process_environment, clock);
        });
    return cli::kDone;
  }
  const cli::Parsed parsed = cli::parse_options(arguments);
  if (parsed.exit == -1) return run(parsed.options);
  (parsed.exit == cli::kDone ? std::cout : std::cerr) << parsed.message;
  return parsed.exit;
} catch (const std::exception& error) {
  print_error(error.what());
  return cli::kFailed;
}
