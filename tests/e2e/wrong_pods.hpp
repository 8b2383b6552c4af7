#pragma once

#include <string>
#include <vector>

namespace tangram::e2e {

/// A pod that must be refused when it is created, and what the refusal must contain: what is wrong
/// and what to write instead.
struct WrongPod {
  std::string name;
  std::string manifest;  ///< YAML, as a user writes it
  std::vector<std::string> says;
  std::string says_not;  ///< a confusing consequence that it must not contain; "" = none
};
[[nodiscard]] const std::vector<WrongPod>& wrong_pods();

}  // namespace tangram::e2e
