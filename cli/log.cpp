#include "cli/log.hpp"

#include "base/one_line.hpp"

#include <spdlog/pattern_formatter.h>

#include <string>
#include <string_view>

namespace tangram::cli {

namespace {

/// In a pattern, the message as one line.
class MessageInOneLine final : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm& /*time*/,
              spdlog::memory_buf_t& out) override {
    const std::string line =
        one_line(std::string_view(message.payload.data(), message.payload.size()));
    out.append(line.data(), line.data() + line.size());
  }
  [[nodiscard]] std::unique_ptr<custom_flag_formatter> clone() const override {
    return std::make_unique<MessageInOneLine>();
  }
};

}  // namespace

std::unique_ptr<spdlog::formatter> log_formatter() {
  auto formatter = std::make_unique<spdlog::pattern_formatter>();
  formatter->add_flag<MessageInOneLine>('*').set_pattern(std::string(kProgram) + ": %l: %*");
  return formatter;
}

}  // namespace tangram::cli
