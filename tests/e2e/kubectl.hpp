#pragma once

#include <string>
#include <vector>

namespace tangram::e2e {

/// What a user of kubectl sees.
struct KubectlAnswer {
  int status = 0;    ///< of the program; 0 = success
  std::string text;  ///< stdout and stderr
  [[nodiscard]] bool done() const { return status == 0; }
};

/// Runs kubectl and waits for its end.
/// @param input  for `-f -`
/// @param user   to impersonate; "" = the administrator
KubectlAnswer kubectl(const std::vector<std::string>& arguments, const std::string& input = "",
                      const std::string& user = "");

/// The same of any program.
KubectlAnswer run_command(const std::vector<std::string>& words);

}  // namespace tangram::e2e
