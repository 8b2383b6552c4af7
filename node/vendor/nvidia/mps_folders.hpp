#pragma once

#include "base/result.hpp"

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace tangram::node::nvidia {

/// The folders of one card's MPS daemon and of its clients, which outlive the agent:
///
///     RUN_DIR/mps/CARD/       only root can write; never mounted as a whole
///       daemon/3/             one start of a daemon, a new number each time; no container sees it
///         pipe/               the daemon's CUDA_MPS_PIPE_DIRECTORY
///         log/                its CUDA_MPS_LOG_DIRECTORY
///       current               a link to the daemon that clients reach; absent = none
///       clients/ALLOCATION/   one for each container; mounted there read-only
///         control, log        hard links to the socket and the FIFO in current/pipe
///       shm/                  the /dev/shm of the daemon and its clients: see MpsShm
///
/// A client can therefore neither replace the daemon's socket nor connect to the one for commands.
/// A hard link leads to the socket itself, so new links bring running containers to the next
/// daemon, while a mount stays the same for the container's life.
///
/// Threads: one at a time.
class MpsFolders {
 public:
  MpsFolders(const std::string& run_dir, const std::string& card);

  /// Whether the paths of the sockets are short enough.
  static bool fit(const std::string& run_dir, const std::string& card);
  /// The cards that have folders.
  static std::set<std::string> cards_in(const std::string& run_dir);

  [[nodiscard]] const std::string& root() const { return root_; }
  [[nodiscard]] bool exist() const;
  [[nodiscard]] std::string shm() const { return root_ + "/shm"; }

  [[nodiscard]] std::string current() const;               ///< the folder; "" = none
  [[nodiscard]] std::vector<std::string> daemons() const;  ///< the folder of each start
  /// The folder of a daemon of an earlier version of the agent, which had pipe/ and log/ in root()
  /// itself, where clients could write; "" = none.
  [[nodiscard]] std::string former() const;
  /// Makes the folders of the next start, and removes those of starts that failed and of former().
  /// @returns its folder; kUnavailable if that fails
  [[nodiscard]] Result<std::string> make_daemon() const;
  /// Opens a daemon that listens to the clients, and removes the folders of the earlier ones.
  /// @returns kUnavailable if that fails
  /// @param relink  running containers reach it; if not, only those that are added from now on
  [[nodiscard]] Result<void> make_current(const std::string& daemon, bool relink) const;

  [[nodiscard]] std::string client(std::string_view allocation) const;
  /// With the links if there is a current daemon. Idempotent.
  /// @returns kUnavailable if it cannot be made
  [[nodiscard]] Result<void> add_client(std::string_view allocation) const;
  void remove_clients_but(const std::set<std::string, std::less<>>& allocations) const;

  /// Empties the daemons' logs that have become large. They lie in the memory of the host, and a
  /// client that connects again and again makes the daemon write.
  void bound_logs() const;

  /// Removes all of it. The daemon must have ended.
  void remove() const;

 private:
  const std::string root_;
};

}  // namespace tangram::node::nvidia
