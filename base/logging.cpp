#include "base/logging.hpp"

#include "base/json.hpp"
#include "base/one_line.hpp"

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <iostream>
#include <string>
#include <utility>

namespace tangram {

namespace {

/// In a pattern, the message as a JSON string.
class MessageAsJson final : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm& /*time*/,
              spdlog::memory_buf_t& out) override {
    std::string text;
    // Texts of others may stand in it, which need not be UTF-8.
    json::Writer(text).string(one_line({message.payload.data(), message.payload.size()}));
    out.append(text.data(), text.data() + text.size());
  }
  [[nodiscard]] std::unique_ptr<custom_flag_formatter> clone() const override {
    return std::make_unique<MessageAsJson>();
  }
};

/// In a pattern, the level as zap calls it, the logger of Kubernetes' controllers.
class LevelOfControllers final : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm& /*time*/,
              spdlog::memory_buf_t& out) override {
    auto level = spdlog::level::to_string_view(message.level);
    if (message.level == spdlog::level::warn) level = "warn";
    if (message.level == spdlog::level::critical) level = "fatal";
    out.append(level.data(), level.data() + level.size());
  }
  [[nodiscard]] std::unique_ptr<custom_flag_formatter> clone() const override {
    return std::make_unique<LevelOfControllers>();
  }
};

// Set before other threads run.
LogFormat g_format =
    LogFormat::kText;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)

}  // namespace

std::unique_ptr<spdlog::formatter> json_log_formatter() {
  auto formatter =
      std::make_unique<spdlog::pattern_formatter>(spdlog::pattern_time_type::utc, "\n");
  formatter->add_flag<MessageAsJson>('*').add_flag<LevelOfControllers>('L').set_pattern(
      R"({"level":"%L","ts":"%Y-%m-%dT%H:%M:%S.%eZ","msg":%*})");
  return formatter;
}

void configure_logging(std::string_view level, std::string_view format) {
  spdlog::set_default_logger(std::make_shared<spdlog::logger>(
      "", std::make_shared<spdlog::sinks::stderr_color_sink_mt>()));
  spdlog::set_level(spdlog::level::from_str(std::string(level)));
  const bool json = format == kLogFormatNames[static_cast<std::size_t>(LogFormat::kJson)];
  g_format = json ? LogFormat::kJson : LogFormat::kText;
  if (json) spdlog::set_formatter(json_log_formatter());
}

void report_failure(std::string_view program, std::string_view message) {
  if (g_format == LogFormat::kJson) {
    spdlog::critical("{}", message);
  } else {
    std::cerr << program << ": " << message << "\n";
  }
}

}  // namespace tangram
