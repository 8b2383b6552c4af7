#pragma once

#include "base/result.hpp"
#include "node/cards/card_source.hpp"
#include "node/isolation/programs.hpp"

#include <string>
#include <vector>

namespace tangram::node::nvidia {

struct MpsSettings {
  /// A folder that outlives the agent, not a reboot, with the same path on the host, in the agent's
  /// container and for the container runtime: a hostPath of /run.
  std::string run_dir = "/run/tangram";
  /// The card's pipe directory in containers.
  std::string container_dir = "/run/tangram/mps";
  /// Daemons and clients use MpsDaemon::shm_dir() as /dev/shm. If false, they use the machine's,
  /// for clients outside of containers.
  bool own_shm = true;
  /// One server for the processes of all users, from Volta on. Without it, pods with another user
  /// id than the first one's wait until that one has ended.
  bool multiuser = true;
  /// Prefix of the command that starts a daemon. Empty = in the agent's container: daemons and the
  /// work of their clients end with it. With hostPID,
  ///   nsenter --target 1 --mount -- systemd-run --scope --quiet --collect --
  /// starts them on the host, in a control group of their own.
  std::vector<std::string> launcher;
};

/// NVIDIA's MPS control daemon of one card: `nvidia-cuda-mps-control` with its own pipe directory,
/// which clients and later agents use. It starts a server for its card when the first client
/// connects. Every call is bounded. Threads: one at a time.
class MpsDaemon {
 public:
  /// @param card "GPU-…", valid as a file name
  MpsDaemon(const MpsSettings& settings, std::string card, Programs& programs);

  enum class Liveness {
    kRunning,  ///< and answers
    kAbsent,
    kUnknown,  ///< no answer in time, or the front end cannot be started now
  };
  /// Takes at most 3 s.
  [[nodiscard]] Liveness check();

  /// Starts it; takes at most 6 s. It may take another moment until it answers.
  /// @returns kUnavailable; kInvalidArgument where the program is not installed
  Result<void> start();

  /// Ends it and its server; takes at most 5 s.
  /// @returns whether it answered; if not, see end_by_force()
  bool quit();

  /// Kills a daemon that does not answer and its servers, which would keep the next one's off the
  /// card.
  void force_end(CardSource& source);

  /// Removes its folders. It must have ended.
  void remove_folders();

  [[nodiscard]] std::string pipe_dir() const { return dir_ + "/pipe"; }
  [[nodiscard]] bool has_folders() const;

  /// The folder of all daemons' folders, each with the name of its card.
  static std::string base_dir(const MpsSettings& settings) { return settings.run_dir + "/mps"; }

  /// The /dev/shm of containers and daemons, through which clients and servers communicate: not the
  /// host's, which other programs use.
  static std::string shm_dir(const MpsSettings& settings) { return settings.run_dir + "/shm"; }

 private:
  [[nodiscard]] Command control(std::string input) const;

  const MpsSettings& settings_;
  const std::string card_;
  const std::string dir_;
  Programs& programs_;
};

}  // namespace tangram::node::nvidia
