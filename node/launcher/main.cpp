// tangram-launcher: wiring only.

#include "base/one_line.hpp"
#include "node/launcher/client.hpp"
#include "node/launcher/command.hpp"
#include "node/launcher/server.hpp"
#include "node/launcher/settings.hpp"

#include <exception>
#include <iostream>
#include <string_view>

namespace {

using namespace tangram;
using namespace tangram::node;

int failed(std::string_view message) {
  std::cerr << "tangram-launcher: " << one_line(message) << "\n";
  return launcher::kNotRun;
}

Result<int> serve(const std::string& socket) {
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
  const auto& [socket, command] = parsed.settings;
  const auto code = command.empty()
                        ? serve(socket)
                        : launcher::run_by_launcher(
                              socket, {.arguments = command, .env = launcher::own_environment()});
  return code ? *code : failed(code.error().message);
} catch (const std::exception& error) {
  return failed(error.what());
}
