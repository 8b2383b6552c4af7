#pragma once

#include "base/result.hpp"
#include "node/launcher/message.hpp"
#include "node/launcher/socket.hpp"

#include <poll.h>
#include <sys/types.h>

#include <chrono>
#include <map>
#include <string>
#include <vector>

namespace tangram::node::launcher {

struct ServerSettings {
  std::string socket = {};
  /// At a time, with those that were killed and have not ended yet. The agent runs one for each
  /// card, and the largest machines have 16; the rest is for people who look at the node.
  std::size_t most_commands = 64;
  /// At a time. Others wait in the socket's queue. Each takes up to four files while its command is
  /// started, and a process has 1024 by default.
  std::size_t most_clients = 128;
  /// For a client's request, which it sends at once.
  std::chrono::milliseconds patience = std::chrono::seconds(5);
};

/// Runs the commands of clients, each in a process of its own. A client of another user is refused.
/// The command of a client that leaves is killed with its process group; what it has put into the
/// background in a session of its own stays, as a child of this process, which reaps it. One
/// thread; the process must have no others, and no children of its own.
class Server {
 public:
  /// Listens: clients can connect from now on.
  /// @returns as listen_at()
  [[nodiscard]] static Result<Server> create(ServerSettings settings);

  /// Answers clients until SIGTERM or SIGINT, then kills the commands that still run.
  /// @returns kUnavailable if the system lets it not begin
  Result<void> run();

 private:
  using TimePoint = std::chrono::steady_clock::time_point;
  struct Client {
    Descriptor socket;  ///< closed = it is to be forgotten
    TimePoint until;    ///< its request must have arrived
    pid_t command = 0;  ///< 0 = none yet
  };

  Server(ServerSettings settings, Descriptor listener);
  Result<void> begin();
  [[nodiscard]] std::vector<pollfd> awaited() const;
  [[nodiscard]] int wait_limit() const;
  void serve(const std::vector<pollfd>& events);
  /// @returns whether the process is to go on
  bool take_signals();
  void accept_clients();
  void reap();
  void end_of(pid_t pid, int exit_code);
  void attend(Client& client);
  void answer_request(Client& client);
  [[nodiscard]] Result<pid_t> start_command(Client& client, std::string& name);
  static void reply(Client& client, const Reply& reply);
  static void refuse(Client& client, const std::string& why);
  void refuse_silent();
  [[nodiscard]] bool accepts() const;

  const ServerSettings settings_;
  Descriptor listener_;
  Descriptor signals_;
  std::vector<Client> clients_;
  std::map<pid_t, std::string> commands_;  ///< that have not ended, with their names for the log
  TimePoint accepts_from_;                 ///< not before, after a failure
};

}  // namespace tangram::node::launcher
