#pragma once

#include "base/result.hpp"

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace tangram::node {

/// The container of an allocation, and what it was granted.
struct Claim {
  std::string pod_uid;
  std::string ns;
  std::string pod;
  std::string container;
  /// The annotation's text when the claim was checked. The container keeps it even if the
  /// annotation changes, and a restart needs no API server.
  std::string grant;
  bool whole = false;  ///< it shares none of its cards: it needs no enforcer
  std::string spec;    ///< the CDI spec; empty = the container could not be prepared yet
  /// The environment variable, "NAME=value", by which a container that is created after `marked_at`
  /// (nanoseconds since 1970) shows that it has its device: see start_mark(). Empty = not known, as
  /// of earlier agents' starts.
  std::string mark = {};
  std::int64_t marked_at = 0;
  std::string former_mark = {};  ///< of the start before
  /// The machine's boot in which the last start was prepared, by the kernel's id. Empty = by an
  /// earlier agent.
  std::string boot = {};
  friend bool operator==(const Claim&, const Claim&) = default;
};

/// One Allocate of kubelet's: the response, and the container that used it.
struct JournalEntry {
  std::string name;                ///< of the CDI device, used once
  std::vector<std::string> slots;  ///< sorted
  std::string allocated_at;        ///< RFC 3339
  std::optional<Claim> claim;      ///< once kubelet has prepared the container's start
  friend bool operator==(const JournalEntry&, const JournalEntry&) = default;
};

/// The agent's own record, a small file for each Allocate in a folder that survives reboots: an
/// agent that was killed continues where it was, even while the API server is down. Kubelet's
/// checkpoint has the same allocations: without the journal no pod is lost.
/// Threads: safe.
class Journal {
 public:
  /// Reads the folder. A file that cannot be read is logged, renamed to NAME.bad, and left out: the
  /// machine may have lost power while it was written.
  /// @returns kUnavailable if the folder can neither be read nor made
  static Result<Journal> open(const std::string& folder);
  Journal(Journal&& other) noexcept;
  Journal& operator=(Journal&&) = delete;
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;
  ~Journal() = default;

  /// While it is held, nobody else checks, records or changes a claim. Not held during a call to
  /// kubelet, the API server or the driver.
  [[nodiscard]] std::unique_lock<std::mutex> lock_claims() { return std::unique_lock(claiming_); }

  /// Adds or replaces an entry: an agent that starts later reads it. It is not forced to the disk:
  /// a machine that loses power may lose it, and every container starts again then.
  /// @returns kUnavailable if it cannot be written
  Result<void> put(const JournalEntry& entry);
  /// The same in memory only, where put() failed: an agent that starts later does not know of it.
  void remember(const JournalEntry& entry);
  void erase(std::string_view name);

  [[nodiscard]] std::optional<JournalEntry> find(std::string_view name) const;
  /// By name.
  [[nodiscard]] std::vector<JournalEntry> all() const;
  /// Pods whose containers were admitted before the watch has shown the pod: it is not gone. By
  /// UID, in memory only: an agent that starts later lists all pods. Ends with the pod's last
  /// claim.
  void await_pod(const std::string& uid);
  void pod_shown(std::string_view uid);
  [[nodiscard]] bool awaits_pod(std::string_view uid) const;
  [[nodiscard]] std::set<std::string, std::less<>> awaited_pods() const;
  /// Has a container been admitted by a grant of this very text?
  [[nodiscard]] bool has_admitted(std::string_view grant) const;

 private:
  explicit Journal(std::string folder) : folder_(std::move(folder)) {}
  [[nodiscard]] std::string file(std::string_view name) const;

  std::string folder_;
  std::mutex claiming_;
  mutable std::mutex mutex_;
  // Under mutex_.
  std::map<std::string, JournalEntry, std::less<>> entries_;
  std::set<std::string, std::less<>> awaited_;
};

[[nodiscard]] std::string encode(const JournalEntry& entry);
/// @returns kInvalidArgument if it is none, or has a newer version than this program knows
Result<JournalEntry> decode_journal_entry(std::string text);

}  // namespace tangram::node
