#include "base/environment.hpp"

#include <cstdlib>

namespace tangram {

std::string process_environment(const std::string& name) {
  const char* value =
      std::getenv(name.c_str());  // NOLINT(concurrency-mt-unsafe): the program sets none
  return value == nullptr ? "" : value;
}

}  // namespace tangram
