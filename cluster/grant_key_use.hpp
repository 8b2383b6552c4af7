#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

namespace tangram::cluster {

/// Which keys signed the grants of the pods that exist: so that people see when the last grant of
/// an old key, or the last unsigned one, is gone. Threads: safe.
class GrantKeyUse {
 public:
  /// @param key  Recorded::grant_key; empty = the pod has no grant
  void set(std::string_view pod_uid, const std::string& key);
  /// The pod is gone.
  void forget(std::string_view pod_uid);

  [[nodiscard]] std::map<std::string, std::size_t> counts() const;  ///< pods by key

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::string, std::less<>> keys_;  ///< by the pod's UID
};

}  // namespace tangram::cluster
