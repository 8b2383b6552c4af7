// tangram-launcher: wiring only.

#include "base/logging.hpp"
#include "base/one_line.hpp"
#include "node/launcher/client.hpp"
#include "node/launcher/command.hpp"
#include "node/launcher/server.hpp"
#include "node/launcher/settings.hpp"

#include <exception>
#include <string_view>

namespace {

using namespace tangram;
using namespace tangram::node;

int failed(std::string_view message) {
  report_failure("tangram-launcher", one_line(message));
  return launcher::kNotRun;
}

Result<int> serve(const std::string& socket, const std::string& log_format) {
  configure_logging("info", log_format);
  auto server = launcher::Server::create({.socket = socket});
  if (!server) return server.error();
  const auto done = server->run();
  return done ? Result<int>(0) : done.error();
}

}  // namespace

int main(int argc, char** argv) try {
  launcher::open_standard_files();
  const auto parsed = launcher::parse_settings(argc, argv);
  if (parsed.exit) return *parsed.exit;
  const auto& [socket, log_format, command] = parsed.settings;
  const auto code = command.empty()
                        ? serve(socket, log_format)
                        : launcher::run_by_launcher(
                              socket, {.arguments = command, .env = launcher::own_environment()});
  return code ? *code : failed(code.error().message);
} catch (const std::exception& error) {
  return failed(error.what());
}
