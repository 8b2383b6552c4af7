#pragma once

#include <spdlog/formatter.h>

#include <array>
#include <memory>
#include <string_view>

namespace tangram {

/// How a line of the log looks.
enum class LogFormat { kText, kJson };

/// By LogFormat: what settings call them.
inline constexpr std::array<std::string_view, 2> kLogFormatNames{"text", "json"};

/// Each message as a JSON object on one line, with the members of the loggers that Kubernetes
/// controllers use: {"level":"info","ts":"2026-01-31T09:30:00.123Z","msg":"..."}. The time is UTC.
[[nodiscard]] std::unique_ptr<spdlog::formatter> json_log_formatter();

/// Configures what the process logs to standard error. Threads: before others log; may be repeated.
/// @param level   as spdlog calls it: trace, debug, info, warn or error
/// @param format  one of kLogFormatNames
void configure_logging(std::string_view level, std::string_view format);

/// Says on standard error why a program ends: as a log line if the log is JSON, which collectors
/// parse, else as "PROGRAM: MESSAGE".
void report_failure(std::string_view program, std::string_view message);

}  // namespace tangram
