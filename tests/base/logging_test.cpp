#include "base/logging.hpp"

#include "base/json.hpp"

#include <gtest/gtest.h>
#include <spdlog/logger.h>
#include <spdlog/sinks/ostream_sink.h>

#include <memory>
#include <sstream>
#include <string>

namespace tangram {
namespace {

using namespace std::chrono_literals;

std::string logged(spdlog::level::level_enum level, const std::string& message) {
  std::ostringstream out;
  spdlog::sinks::ostream_sink_st sink(out);
  sink.set_formatter(json_log_formatter());
  // 2026-01-31 09:30:00.123 UTC
  const spdlog::log_clock::time_point at(1769851800123ms);
  sink.log(spdlog::details::log_msg(at, {}, "", level, message));
  return out.str();
}

TEST(LoggingTest, AMessageIsAJsonObjectOnOneLine) {
  EXPECT_EQ(logged(spdlog::level::info, "pod ml/train bound"),
            R"({"level":"info","ts":"2026-01-31T09:30:00.123Z","msg":"pod ml/train bound"})"
            "\n");
  EXPECT_EQ(logged(spdlog::level::warn, "a \"quote\", a \\ and a percent: %v"),
            R"({"level":"warn","ts":"2026-01-31T09:30:00.123Z",)"
            R"("msg":"a \"quote\", a \\ and a percent: %v"})"
            "\n");
}

TEST(LoggingTest, TextsOfOthersStayInsideTheLine) {
  const std::string line = logged(spdlog::level::err, "a\nb\x1b[2J\xff\"}");
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  EXPECT_NE(line.find(R"("msg":"a?b?[2J?\"}"})"), std::string::npos) << line;
}

}  // namespace
}  // namespace tangram
