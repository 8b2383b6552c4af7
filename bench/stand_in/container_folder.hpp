#pragma once

#include "base/result.hpp"
#include "shim/pages.hpp"

#include <string>

namespace tangram::bench {

/// Paths in the folder: the driver's own library, and the stand-in before it.
inline constexpr const char* kBareDriver = "tangram/driver/libcuda.so.1";
inline constexpr const char* kStandInDriver = "lib/libcuda.so.1";

/// A driver, and its card.
struct MeasuredDriver {
  std::string library;  ///< the file
  shim::Uuid card;
};
/// The one that does almost nothing (tests/shim/null_driver).
[[nodiscard]] MeasuredDriver null_driver();
/// One with a card of this machine.
/// @param library  as the loader finds it: "libcuda.so.1", or a path
/// @returns kInvalidArgument  the card has no UUID; kUnavailable  the library cannot be loaded
Result<MeasuredDriver> driver_of_card(const std::string& library, const std::string& card);

/// A temporary folder as a container has it, with a limit of 16,255 MiB on the driver's card.
/// It is the current folder as long as it exists: the tests' stand-in has its root there.
class ContainerFolder {
 public:
  /// @returns kUnavailable with the system's reason
  static Result<ContainerFolder> create(const MeasuredDriver& driver);
  ~ContainerFolder();
  ContainerFolder(ContainerFolder&& other) noexcept : path_(std::move(other.path_)) {
    other.path_.clear();
  }
  ContainerFolder& operator=(ContainerFolder&&) = delete;

 private:
  explicit ContainerFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;  ///< empty = moved from
};

}  // namespace tangram::bench
