#pragma once

#include "tests/fake_mps/partitions.hpp"

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tangram::fake_mps {

struct Limits {
  std::optional<std::int64_t> mebibytes;  ///< nothing = the whole card
  int percent = 100;                      ///< of the multiprocessors
};

/// What a daemon knows, and how it answers. Threads: one.
class Daemon {
 public:
  /// @param divided  it was started with -S
  explicit Daemon(bool divided) : divided_(divided) {}

  /// @param privileged  it came by control_privileged
  [[nodiscard]] std::string answer(std::string_view packet, bool privileged);
  [[nodiscard]] bool ended() const { return ended_; }

 private:
  [[nodiscard]] std::string command(std::string_view line);
  [[nodiscard]] std::string admit_client(std::string_view memory, std::string_view percent,
                                         std::string_view partition);
  /// @returns null if no server has this process id
  Limits* limits_of(std::string_view pid);
  void start_server();  ///< unless it runs

  const bool divided_;
  Partitions partitions_;
  Limits defaults_;
  Limits of_server_;
  pid_t server_ = 0;  ///< 0 = none yet
  bool ended_ = false;
};

}  // namespace tangram::fake_mps
