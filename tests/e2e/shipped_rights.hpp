#pragma once

#include "tests/e2e/cluster.hpp"

#include <string>
#include <vector>

/// Splits shipped RBAC files into single rights, for tests that remove them one by one.
namespace tangram::e2e {

/// The rules of a ClusterRole or a Role, as they are applied.
struct Role {
  std::string path;
  std::string rules;  ///< JSON
  void apply(Cluster& cluster) const;
};
/// @param file  relative to the repository root
[[nodiscard]] std::vector<Role> shipped_roles(const std::string& file);

/// One verb of one rule, and the rules without it.
struct Right {
  std::string name;  ///< "pods list"
  Role without;
};
[[nodiscard]] std::vector<Right> shipped_rights(const std::string& file);

}  // namespace tangram::e2e
