#include "node/launcher/client.hpp"

#include "node/launcher/socket.hpp"

#include <unistd.h>

namespace tangram::node::launcher {

Result<int> run_by_launcher(const std::string& socket, const Request& request) {
  const auto message = encode(request);
  if (!message) return message.error();
  const auto connection = connect_to(socket);
  if (!connection) return connection.error();
  auto sent =
      send_message(connection->get(), *message, {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO});
  if (!sent) return sent.error();
  const auto answer = receive_message(connection->get(), kMostReplyBytes);
  if (!answer) return answer.error();
  if (answer->bytes.empty()) {
    return fail(Errc::kUnavailable,
                "the launcher has ended, and with it the command if it ran; see the logs of the "
                "node's pod of the DaemonSet tangram-mps");
  }
  const auto reply = decode_reply(answer->bytes);
  if (!reply) return reply.error();
  if (const auto* refused = std::get_if<Refused>(&*reply)) {
    return fail(Errc::kUnavailable, "the launcher refuses: " + refused->why);
  }
  return std::get<Ended>(*reply).exit_code;
}

std::vector<std::string> own_environment() {
  std::vector<std::string> all;
  for (char** one = environ; one != nullptr && *one != nullptr; ++one) all.emplace_back(*one);
  return all;
}

}  // namespace tangram::node::launcher
