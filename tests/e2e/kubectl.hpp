#pragma once

#include <string>
#include <vector>

namespace tangram::e2e {

/// What a person at a terminal sees.
struct KubectlAnswer {
  int status = 0;    ///< of the program; 0 = done
  std::string text;  ///< both of its output streams
  [[nodiscard]] bool done() const { return status == 0; }
};

/// Runs kubectl and waits for its end.
/// @param input  for `-f -`
/// @param user   in whose name; "" = the administrator's own
KubectlAnswer kubectl(const std::vector<std::string>& arguments, const std::string& input = "",
                      const std::string& user = "");

}  // namespace tangram::e2e
