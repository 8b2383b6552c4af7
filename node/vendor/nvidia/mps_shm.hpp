#pragma once

#include "node/isolation/programs.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace tangram::node::nvidia {

/// The most that one card's /dev/shm takes.
struct ShmBound {
  std::int64_t mebibytes = 0;
  std::int64_t files = 0;
};
[[nodiscard]] ShmBound shm_bound(int sharers_per_card);

/// The /dev/shm of one card's daemon and clients: a tmpfs with a bound, so that a client that fills
/// it takes nothing of the host's memory file systems or of other cards' clients. Its pages count
/// as memory of the pod that writes them.
class MpsShm {
 public:
  /// @param launcher  runs mount(8) where the host gets what it mounts
  MpsShm(Programs& programs, std::vector<std::string> launcher, std::string folder);

  /// Idempotent; takes at most 2 s. Mounts nothing unless it knows that nothing is mounted there:
  /// a second one would hide the first from the clients that start later.
  /// @returns kUnavailable; kInvalidArgument where mount(8) is not installed
  Result<void> mount(const ShmBound& bound);
  /// Idempotent; takes at most 2 s. Who has it keeps it until its end.
  /// @returns kUnavailable
  Result<void> unmount();

 private:
  [[nodiscard]] Command command(const std::vector<std::string>& arguments) const;
  [[nodiscard]] Result<bool> is_mounted();

  Programs& programs_;
  const std::vector<std::string> launcher_;
  const std::string folder_;
};

}  // namespace tangram::node::nvidia
