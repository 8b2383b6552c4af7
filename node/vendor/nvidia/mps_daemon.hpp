#pragma once

#include "base/required.hpp"
#include "base/result.hpp"
#include "base/units.hpp"
#include "node/cards/card_source.hpp"
#include "node/isolation/programs.hpp"
#include "node/vendor/nvidia/mps_folders.hpp"
#include "node/vendor/nvidia/mps_shm.hpp"
#include "node/vendor/nvidia/sm_partitions.hpp"

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tangram::node::nvidia {

struct MpsSettings {
  Required<int> sharers;  ///< of a card, at most: its /dev/shm is for so many
  /// A folder that outlives the agent, not a reboot, with the same path on the host, in the agent's
  /// container and for the container runtime: a hostPath of /run.
  std::string run_dir = "/run/tangram";
  /// The client's folder in containers: see MpsFolders.
  std::string container_dir = "/run/tangram/mps";
  /// Daemons and clients of a card use MpsFolders::shm() as /dev/shm, through which they
  /// communicate. If false, they use the machine's, for clients outside of containers.
  bool own_shm = true;
  /// The agent's mounts are its own: without a launcher no container would get a card's /dev/shm.
  bool in_pod = false;
  /// One server for the processes of all users, from Volta on. Without it, pods with another user
  /// id than the first one's wait until that one has ended.
  bool multiuser = true;
  bool memory_limits = true;  ///< false: clients share compute only
  /// Compute in static SM partitions (SmPartitions) instead of percentages of active threads.
  bool sm_partitions = false;
  /// Prefix of the commands that start a daemon and mount its /dev/shm, so that both outlive the
  /// agent's container: "tangram-launcher run --" has a pod of the node run them (node/launcher).
  /// Empty = as the agent's own.
  std::vector<std::string> launcher = {};
};

/// All that runs a daemon needs, as a process of the host or in a pod of its own.
struct MpsDaemonSpec {
  std::string card;
  std::string pipe;  ///< folders that exist
  std::string log;
  std::string shm;  ///< its /dev/shm; empty = the machine's
  bool multiuser = true;
  bool sm_partitions = false;
};

[[nodiscard]] std::vector<std::string> environment_of(const MpsDaemonSpec& spec);
/// Starts it in the background.
[[nodiscard]] Command start_command(const MpsDaemonSpec& spec,
                                    const std::vector<std::string>& launcher);

/// Gives lines to the daemon that runs in this folder of MpsFolders, by its front end.
[[nodiscard]] Command control_command(const std::string& daemon_folder, std::string lines);

/// Limits as MPS takes them.
struct MpsLimits {
  std::int32_t mebibytes = 0;
  std::int32_t percent = 0;  ///< of the multiprocessors; the server rounds to whole ones
  friend bool operator==(const MpsLimits&, const MpsLimits&) = default;
};
/// Rounded down, and at least 1 of each: 0 would be no limit.
[[nodiscard]] MpsLimits mps_limits(Mebibytes memory, MilliGpu compute);

/// The process ids in an answer to get_server_list, one a line.
[[nodiscard]] std::vector<std::int64_t> parse_server_pids(std::string_view answer);

/// NVIDIA's MPS control daemon of one card: `nvidia-cuda-mps-control`, in the folders that clients
/// and later agents use. Its server is the process that opens the card. It starts one when it is
/// told to, or when a client connects, and replaces an idle one for a client of another user. Every
/// call is bounded. Threads: one at a time.
class MpsDaemon {
 public:
  /// @param card "GPU-…", valid as a file name
  MpsDaemon(const MpsSettings& settings, std::string card, Programs& programs);

  enum class Liveness {
    kServing,        ///< answers, and has a server
    kWithoutServer,  ///< answers, but no server of it holds the card
    kAbsent,
    kUnknown,  ///< no answer in time, or the front end cannot be started now
    /// The front end is not there, as while a driver is being replaced: the daemon may well serve.
    kCannotAsk,
  };
  /// Of the daemon that was started last, by this or an earlier agent. Takes at most 3 s.
  [[nodiscard]] Liveness check();

  /// Starts another one, which no client reaches yet; takes at most 6 s, with its /dev/shm. It may
  /// take another moment until it answers.
  /// @returns kUnavailable; kInvalidArgument where the program is not installed
  Result<void> start();

  /// Lets a client that connects from now on have at most this, whatever its environment says;
  /// takes at most 3 s.
  /// @returns kUnavailable
  Result<void> hold(const MpsLimits& limits);

  /// Of a daemon that was started with MpsSettings::sm_partitions; each command takes at most 2 s.
  [[nodiscard]] SmPartitions partitions();
  /// Whether the daemon divides compute as the settings say: one of an earlier agent with other
  /// settings may not.
  [[nodiscard]] bool divides_as_set() const;

  /// Tells it to start a server; takes at most 1 s. check() says whether there is one.
  /// @returns kUnavailable if it refuses
  Result<void> start_server();

  /// Opens a daemon that runs to the clients, also to those of an earlier one; with SM partitions
  /// only to containers that are added from now on. Idempotent.
  /// @returns kUnavailable
  Result<void> open_to_clients();

  /// Ends it and its server; takes at most 5 s.
  /// @returns whether it answered; if not, see force_end()
  bool quit();

  /// Kills the card's daemons, which do not answer, and their servers, which would keep the next
  /// one's off the card.
  void force_end(CardSource& source);

  /// Removes its folders and its /dev/shm. It must have ended.
  /// @returns kUnavailable if the latter stays for now
  Result<void> remove();

  [[nodiscard]] const MpsFolders& folders() const { return folders_; }

 private:
  Result<ProgramEnd> command(const std::string& lines);
  [[nodiscard]] Result<ProgramEnd> control(std::string input, std::chrono::milliseconds limit);

  const MpsSettings& settings_;
  const std::string card_;
  Programs& programs_;
  const MpsFolders folders_;
  MpsShm shm_;
  std::string daemon_;  ///< the folder of the one that was started last; "" = none
};

}  // namespace tangram::node::nvidia
