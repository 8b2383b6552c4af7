#pragma once

#include "base/result.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tangram::node::amd {

/// "name value" lines.
using Properties = std::map<std::string, std::uint64_t, std::less<>>;

/// The kernel's files below a folder in which /sys and /proc are. Paths begin with '/'. Threads:
/// safe.
class KernelFiles {
 public:
  explicit KernelFiles(std::string root) : root_(std::move(root)) {}

  /// Without the newline at its end.
  /// @returns kNotFound     there is no such file
  ///          kUnavailable  it cannot be read now, as some while a card is reset
  [[nodiscard]] Result<std::string> text(const std::string& path) const;
  /// @returns as text(); kInvalidArgument if it is no number
  [[nodiscard]] Result<std::uint64_t> number(const std::string& path) const;
  /// Lines whose value is no number are left out: of those no value is asked for.
  /// @returns as text(); kInvalidArgument if a line is not of two words
  [[nodiscard]] Result<Properties> properties(const std::string& path) const;
  /// The names in a folder, sorted; none if it cannot be read.
  [[nodiscard]] std::vector<std::string> names_in(const std::string& path) const;
  /// The last name of what a link points to; empty if it is no link. Nothing is followed, because a
  /// link that is resolved by this program may lead out of the folder.
  [[nodiscard]] std::string target_of(const std::string& path) const;
  [[nodiscard]] bool has(const std::string& path) const;

 private:
  std::string root_;
};

/// The value of a property.
/// @param file  for the message
/// @returns kInvalidArgument if it is not there
[[nodiscard]] Result<std::uint64_t> value_of(const Properties& properties, std::string_view name,
                                             const std::string& file);

}  // namespace tangram::node::amd
