#pragma once

#include <fstream>
#include <string>
#include <string_view>

namespace tangram::bench {

/// A field of /proc/self/status in MiB: "VmRSS:", "VmHWM:" (the highest so far).
inline double memory_mib(std::string_view field) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(field)) return std::stod(line.substr(field.size())) / 1024;
  }
  return 0;
}

}  // namespace tangram::bench
