#pragma once

#include "node/cards/card_source.hpp"

#include <mutex>
#include <optional>
#include <string>

namespace tangram::node {

/// Cards from a file, for clusters without GPUs and for other vendors' cards. YAML or JSON with the
/// members of the node annotation tangram.dev/cards (docs/annotations.md), plus:
///
///     version: 1
///     driver: "550.54.15"        # optional, display only
///     cuda: "12.4"               # optional, display only
///     cards:
///     - {id: GPU-a, model: A100-SXM4-80GB, memMiB: 81920}
///     - {id: GPU-b, model: A100-SXM4-80GB, memMiB: 81920, healthy: false, reason: smells burnt}
///     faults:                    # happen once, when this file is read
///     - {card: GPU-a, xid: 79}   # a driver error; or `ecc: true`, or `lost: true`; no card: all
///
/// Cards of a file cannot be shared by MPS, and nothing enforces memory limits on them.
///
/// Every call checks the file and reads it again when its inode, size or time of change differs:
/// rename a whole new file into place. If that one is bad, this is logged, and the last good one
/// stays in force.
/// Threads: safe. A waiting call does not block the others.
class FileSource final : public CardSource {
 public:
  explicit FileSource(std::string path);

  /// @returns until there was a good file: kUnavailable if it cannot be read,
  ///          kInvalidArgument if it is bad, with what to write
  Result<Inventory> inventory() override;
  Result<std::vector<Fault>> wait_for_faults(std::chrono::milliseconds limit) override;
  /// A file has no activity: no processes, unknown utilisation.
  Result<CardActivity> activity(std::string_view card) override;
  /// @returns kInvalidArgument
  Result<void> set_exclusive_process(std::string_view card, bool exclusive) override;

 private:
  /// Identifies a version of the file; empty = no file.
  [[nodiscard]] std::string current_stamp() const;
  /// Reads the file again if it changed. @returns the error if there never was a good one
  Result<void> refresh();

  const std::string path_;
  std::mutex mutex_;
  std::optional<std::string> stamp_;
  std::optional<Inventory> inventory_;  ///< of the last good file
  std::optional<Error> error_;          ///< of the file that was read last
  std::vector<Fault> faults_;           ///< not reported yet
};

/// The contents of a file.
struct CardFile {
  Inventory inventory;
  std::vector<Fault> faults;
};

/// @returns kInvalidArgument, with the line or the member, and what to write
Result<CardFile> parse_card_file(const std::string& text);

}  // namespace tangram::node
