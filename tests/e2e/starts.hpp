#pragma once

#include "base/clock.hpp"

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace tangram::e2e {

/// One start of a container on the real node: what container.cpp recorded.
struct Start {
  std::string uid;        ///< of the pod
  std::string container;  ///< its name
  WallTime at;            ///< when the program began
  std::map<std::string, std::string> environment;
  bool clean = true;  ///< no variable stood in it twice
};

/// Starts of the containers on the node, in the order in which they came to sight.
/// Threads: one at a time.
class Starts {
 public:
  /// @param folder  where the containers leave their records
  explicit Starts(std::filesystem::path folder) : folder_(std::move(folder)) {}

  /// Looks for new ones. A record is there for good once it is seen.
  const std::vector<Start>& read();

  /// From now on only what comes after this.
  void forget();

  /// Those of one pod that were seen, or of one of its containers.
  [[nodiscard]] std::vector<Start> of(const std::string& uid,
                                      const std::string& container = {}) const;

 private:
  std::filesystem::path folder_;
  std::set<std::string> seen_;
  std::vector<Start> starts_;
};

}  // namespace tangram::e2e
