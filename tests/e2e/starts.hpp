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
  bool clean = true;  ///< no duplicate variables
};

/// Starts of the containers on the node, in the order in which they were found.
/// Threads: one at a time.
class Starts {
 public:
  /// @param folder  where the containers write their records
  explicit Starts(std::filesystem::path folder) : folder_(std::move(folder)) {}

  /// Reads new records. A visible record is complete and does not change.
  const std::vector<Start>& read();

  /// Drops all starts until now.
  void forget();

  /// The starts of one pod, or of one of its containers, among those read.
  [[nodiscard]] std::vector<Start> of(const std::string& uid,
                                      const std::string& container = {}) const;

 private:
  std::filesystem::path folder_;
  std::set<std::string> seen_;
  std::vector<Start> starts_;
};

}  // namespace tangram::e2e
