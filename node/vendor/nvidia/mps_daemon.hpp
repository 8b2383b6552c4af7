#pragma once

#include "base/result.hpp"
#include "node/cards/card_source.hpp"
#include "node/isolation/programs.hpp"

#include <string>
#include <vector>

namespace tangram::node {

struct MpsSettings {
  /// Where the agent keeps what must outlive it but not a reboot, under the same path on the host,
  /// in the agent and for the runtime that mounts it into containers: a hostPath of /run.
  std::string run_dir = "/run/tangram";
  /// Where a container finds its card's pipe directory.
  std::string container_dir = "/run/tangram/mps";
  /// Daemons and their clients have a /dev/shm of their own: MpsDaemon::shm_dir(). If not, they
  /// have the machine's: for clients that run beside the agent.
  bool own_shm = true;
  /// One server for the processes of all users. Without it, pods with other user ids than the first
  /// one's wait until that one has ended. Volta and newer; drivers that do not know it: switch it
  /// off, and give all pods that share a card one runAsUser.
  bool multiuser = true;
  /// Put before the command that starts a daemon. Daemons end with the agent's container, and with
  /// them what their clients do, unless they are started elsewhere: with hostPID,
  ///   nsenter --target 1 --mount -- systemd-run --scope --quiet --collect --
  /// starts them on the host, in a control group of their own. Empty = in the agent's container.
  std::vector<std::string> launcher;
};

/// NVIDIA's MPS control daemon of one card: `nvidia-cuda-mps-control` with a pipe directory of its
/// own, by which clients, and later agents, find it. It starts a server for its card when the first
/// client comes. Every call is bounded. Threads: one at a time.
class MpsDaemon {
 public:
  /// @param card "GPU-…", fit for a file name
  MpsDaemon(const MpsSettings& settings, std::string card, Programs& programs);

  enum class Answer {
    kYes,
    kNo,       ///< there is none
    kUnknown,  ///< it, or the machine, is too slow, or cannot start the front end now
  };
  /// Whether it runs and answers; at most 3 s.
  [[nodiscard]] Answer ask();

  /// Starts it; at most 6 s. It may take another moment until it answers.
  /// @returns kUnavailable; kInvalidArgument where the program is not installed
  Result<void> start();

  /// Ends it, and its server with it; at most 5 s.
  /// @returns whether it answered; if not, see end_by_force()
  bool quit();

  /// Kills a daemon that does not answer, and what is left of its servers: these hold the card,
  /// so that the next daemon's could not.
  void end_by_force(CardSource& source);

  /// Removes its folders. It must have ended.
  void remove_folders();

  [[nodiscard]] std::string pipe_dir() const { return dir_ + "/pipe"; }
  [[nodiscard]] bool has_folders() const;

  /// The folder that holds all daemons' folders, each named for its card.
  static std::string base_dir(const MpsSettings& settings) { return settings.run_dir + "/mps"; }

  /// Clients and servers meet in their /dev/shm, so containers get this folder as theirs, and so do
  /// the daemons: not the host's own, which holds what others share.
  static std::string shm_dir(const MpsSettings& settings) { return settings.run_dir + "/shm"; }

 private:
  [[nodiscard]] Command control(std::string input) const;

  const MpsSettings& settings_;
  const std::string card_;
  const std::string dir_;
  Programs& programs_;
};

}  // namespace tangram::node
