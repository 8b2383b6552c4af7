#pragma once

#include "base/result.hpp"

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tangram::node {

/// Whom an allocation turned out to belong to.
struct Claim {
  std::string pod_uid;
  std::string ns;
  std::string pod;
  std::string container;
  /// The annotation's text when the claim was checked. It stays what the container has, whatever
  /// becomes of the annotation; and a restart needs no API server.
  std::string grant;
  bool whole = false;  ///< it has its cards alone: it needs no enforcer
  std::string spec;    ///< the CDI spec; empty = the container could not be prepared yet
  friend bool operator==(const Claim&, const Claim&) = default;
};

/// One Allocate: what kubelet was told, and what became of it.
struct Allocation {
  std::string name;                ///< of the CDI device, used once
  std::vector<std::string> slots;  ///< sorted
  std::string allocated_at;        ///< RFC 3339
  std::optional<Claim> claim;      ///< once kubelet has asked to start the container
  friend bool operator==(const Allocation&, const Allocation&) = default;
};

/// The agent's own memory, a small file for each allocation in a folder that survives reboots: an
/// agent that was killed goes on where it was, also while the API server is down. It is a second
/// witness beside kubelet's checkpoint and never the only one: losing it loses no pod.
/// Threads: safe.
class Journal {
 public:
  /// Reads what is there. A file that cannot be read is reported, renamed to NAME.bad, and left
  /// out: a machine may have lost power while it was written.
  /// @returns kUnavailable if the folder can neither be read nor made
  static Result<Journal> open(const std::string& folder);
  Journal(Journal&& other) noexcept;
  Journal& operator=(Journal&&) = delete;
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;
  ~Journal() = default;

  /// Notes an allocation, or what became of it: written before it counts.
  /// @returns kUnavailable if it cannot be written
  Result<void> put(const Allocation& allocation);
  void erase(std::string_view name);

  [[nodiscard]] std::optional<Allocation> find(std::string_view name) const;
  /// By name.
  [[nodiscard]] std::vector<Allocation> all() const;
  /// Has a container been admitted by a grant of this very text?
  [[nodiscard]] bool has_admitted(std::string_view grant) const;

 private:
  explicit Journal(std::string folder) : folder_(std::move(folder)) {}
  [[nodiscard]] std::string file(std::string_view name) const;

  std::string folder_;
  mutable std::mutex mutex_;
  std::map<std::string, Allocation, std::less<>> allocations_;  ///< under mutex_
};

[[nodiscard]] std::string encode(const Allocation& allocation);
/// @returns kInvalidArgument if it is not one, or of a newer version than this program knows
Result<Allocation> decode_allocation(std::string text);

}  // namespace tangram::node
