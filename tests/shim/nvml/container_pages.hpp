#pragma once

#include "shim/page_files.hpp"

#include <string>
#include <vector>

namespace tangram::shim::testing {

inline constexpr std::uint64_t kMebibyte = std::uint64_t{1} << 20U;

struct CardShare {
  std::string uuid;  ///< "GPU-01234567-89ab-cdef-0123-456789abcdef"
  std::uint64_t limit_mib = 0;
  std::uint64_t overhead_mib = 0;
};

/// Writes the pages of a container, without use, to the files `limits` and `usage` of a folder.
void write_pages(const std::string& folder, const std::vector<CardShare>& cards);

/// Writes the limits anew in the file that is there, as the agent does for running containers.
void change_limits(const std::string& folder, const std::vector<CardShare>& cards);

/// A process of the container that has a slot, as seen by other processes.
class ContainerProcess {
 public:
  /// Takes a slot that is free.
  ContainerProcess(const std::string& folder, std::size_t slot, std::int64_t pid);
  ~ContainerProcess() { die(); }
  ContainerProcess(const ContainerProcess&) = delete;
  ContainerProcess& operator=(const ContainerProcess&) = delete;

  void account(std::size_t card, std::uint64_t mib);
  /// Ends without giving back what it has accounted.
  void die() { close_usage(usage_); }

 private:
  UsageFile usage_;
  std::size_t slot_;
};

}  // namespace tangram::shim::testing
