#pragma once

#include "base/result.hpp"
#include "base/units.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace tangram::node::nvidia {

/// What an MPS daemon in static partitioning mode says of a card, in answer to `lspart`.
struct SmPartitionTable {
  std::int64_t chunks = 0;                                      ///< of the whole card
  std::map<std::string, std::int64_t, std::less<>> partitions;  ///< id -> its chunks
};

/// @returns nothing if it has no line for the card as a whole: the daemon is in another mode, or
///          does not know the card
[[nodiscard]] std::optional<SmPartitionTable> parse_partition_table(std::string_view answer,
                                                                    std::string_view card);

/// The partition in an answer to `sm_partition add`, as CUDA_MPS_SM_PARTITION takes it: "CARD/ID".
/// Newer daemons write a sentence around it.
/// @returns nothing if none was made
[[nodiscard]] std::optional<std::string> parse_new_partition(std::string_view answer,
                                                             std::string_view card);

/// The SM partitions of one MPS daemon, one for each container: multiprocessors that only its
/// processes use, in chunks whose size depends on the card. NVIDIA documents them in "Static SM
/// Partitioning" (docs.nvidia.com/deploy/mps): from driver r590 and Ampere on, for a daemon that
/// was started with -S. A client has to name its partition, and has no other limit of compute.
///
/// Which container has which one stands in files beside the daemon, and ends with it:
///
///     DAEMON/partitions/ALLOCATION    "CARD/ID"
///
/// Threads: one at a time for a daemon; id_of() at any time.
class SmPartitions {
 public:
  /// Gives a line to the daemon. @returns its answer; kUnavailable if it does not answer
  using Control = std::function<Result<std::string>(const std::string& line)>;
  /// By the container's allocation: the compute that it was granted.
  using Shares = std::map<std::string, MilliGpu, std::less<>>;

  SmPartitions(const std::string& daemon_folder, std::string card, Control control);

  /// Marks a daemon that is about to be started with -S. @returns kUnavailable
  static Result<void> mark(const std::string& daemon_folder);
  /// Whether it was started so.
  [[nodiscard]] static bool marked(const std::string& daemon_folder);

  /// Makes a container's partition, unless it has one of this size. If there is no room, it removes
  /// those of containers that are not in `shares`, and tries again.
  /// @param shares  of the containers that may use the card now, with this one
  /// @returns kUnavailable: a partition of a container that has just ended may still be used
  Result<void> reserve(const std::string& allocation, const Shares& shares);

  /// Whether containers that are not among these have partitions. Without a call of the daemon.
  [[nodiscard]] bool has_others(const Shares& shares) const;

  /// Removes the partitions of all other containers, and those that no container got: the agent was
  /// killed, or the daemon was slow to answer.
  /// @returns false if some are left, which are in use: to be called again
  bool keep(const Shares& shares);

  /// "" = it has none.
  [[nodiscard]] static std::string id_of(const std::string& daemon_folder,
                                         std::string_view allocation);

 private:
  [[nodiscard]] Result<SmPartitionTable> table() const;
  [[nodiscard]] Result<std::string> add(std::int64_t chunks) const;
  bool remove(std::string_view id) const;
  /// By allocation, the ids as in the table.
  [[nodiscard]] std::map<std::string, std::string, std::less<>> owners() const;

  const std::string folder_;
  const std::string card_;
  const Control control_;
};

}  // namespace tangram::node::nvidia
