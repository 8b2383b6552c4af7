#pragma once

#include "node/isolation/programs.hpp"
#include "node/vendor/nvidia/driver/installed.hpp"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tangram::node::nvidia {

/// Runs the driver's programs where the driver has them: in a driver container, or on a host whose
/// folders this program's container does not have. Other programs, and all of them while no driver
/// is found, are looked for in PATH.
///
/// A program of the driver needs the driver's libraries, but must not get the rest of what lies
/// beside them: another libc would not fit its loader. So it has a folder of links to the driver's
/// files alone, FOLDER/VERSION/{bin,lib}, in PATH and in LD_LIBRARY_PATH. Threads: safe.
class DriverPrograms final : public Programs {
 public:
  /// @param system        runs the commands
  /// @param driver_roots  as for find_driver()
  /// @param folder        of links; the same path wherever a launcher runs the commands
  DriverPrograms(std::unique_ptr<Programs> system, Root host, std::vector<std::string> driver_roots,
                 std::string folder)
      : system_(std::move(system)),
        host_(std::move(host)),
        driver_roots_(std::move(driver_roots)),
        folder_(std::move(folder)) {}

  /// Each argument that is the name of a program of the driver becomes its path: a launcher may
  /// stand before it.
  Result<ProgramEnd> run(const Command& command, std::chrono::milliseconds limit) override;
  bool kill(std::int64_t pid, std::string_view name, std::string_view variable) override {
    return system_->kill(pid, name, variable);
  }

  /// Whether the driver that the kernel runs has this program.
  [[nodiscard]] bool has(std::string_view program) const;

 private:
  [[nodiscard]] Result<void> link(const InstalledDriver& driver, const std::string& folder);

  const std::unique_ptr<Programs> system_;
  const Root host_;
  const std::vector<std::string> driver_roots_;
  const std::string folder_;
};

}  // namespace tangram::node::nvidia
