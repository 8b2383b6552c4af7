#include "cli/log.hpp"

#include <gtest/gtest.h>
#include <spdlog/logger.h>
#include <spdlog/sinks/ostream_sink.h>

#include <memory>
#include <sstream>

namespace tangram::cli {
namespace {

TEST(LogTest, AMessageIsOneLineWithoutControls) {
  std::ostringstream out;
  spdlog::logger logger("test", std::make_shared<spdlog::sinks::ostream_sink_st>(out));
  logger.set_formatter(log_formatter());
  logger.warn("node {}: a\nb\x1b[2J\xe2\x80\xae\xff caf\xc3\xa9", "n\r\n0");
  logger.error("again");
  EXPECT_EQ(out.str(),
            "kubectl-tangram: warning: node n??0: a?b?[2J?? caf\xc3\xa9\n"
            "kubectl-tangram: error: again\n");
}

}  // namespace
}  // namespace tangram::cli
