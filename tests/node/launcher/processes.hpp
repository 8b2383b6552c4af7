#pragma once

#include "base/file.hpp"
#include "base/split.hpp"

#include <filesystem>
#include <string>

namespace tangram::node::launcher {

/// As a process or a zombie.
[[nodiscard]] inline bool is_there(const std::string& pid) {
  return std::filesystem::exists("/proc/" + pid);
}

/// "PPid" in /proc/PID/status.
[[nodiscard]] inline std::string parent_of(const std::string& pid) {
  const auto text = read_file("/proc/" + pid + "/status");
  for (const auto& line : split(text ? *text : "", '\n')) {
    if (line.starts_with("PPid:\t")) return line.substr(6);
  }
  return "none";
}

}  // namespace tangram::node::launcher
