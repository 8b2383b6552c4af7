#pragma once

#include "shim/nvml/abi.hpp"
#include "shim/page_files.hpp"

/// What the container's pages say about a card.
namespace tangram::shim::nvml {

/// A card as the container has it, for the length of one call: the pages are opened by it and
/// closed again, and nothing is cached. A call of NVML takes a system call or more anyway; and so
/// there is no lock that a fork could leave locked, no descriptor that a program that closes all of
/// its own could reuse, and no handle that means another card after nvmlShutdown(). It takes no
/// slot and writes nothing, so a usage page that can only be read will do.
///
/// A process whose slot nobody has locked is dead: what it has accounted is not counted, although
/// only a process that uses cards can give it back.
class ContainerCard {
 public:
  explicit ContainerCard(Device device);
  ~ContainerCard();
  ContainerCard(const ContainerCard&) = delete;
  ContainerCard& operator=(const ContainerCard&) = delete;

  /// kSuccess. kUnknown if the pages are missing or wrong: the driver's answer would be about the
  /// whole card and all tenants. Or what the driver answers for a bad handle.
  [[nodiscard]] int code() const { return code_; }
  /// A card that is not in the container's limits has no limit.
  [[nodiscard]] bool is_limited() const { return limit_ != nullptr; }
  /// The share, and what is used and free of it: together exactly the share. Needs is_limited().
  [[nodiscard]] Memory memory() const;

  /// Calls visit(pid, bytes) for each process of the container that has accounted memory on the
  /// card; for none if the card has no limit. The pid is of the process's own PID namespace.
  template <class Visit>
  void each_process(const Visit& visit) const {
    if (!is_limited()) return;
    for (std::size_t slot = 0; slot < kMaxProcesses; ++slot) {
      const std::uint64_t bytes = bytes_of(slot);
      if (bytes != 0) visit(pid_of(slot), bytes);
    }
  }

 private:
  [[nodiscard]] bool open_pages(const Uuid& uuid);
  [[nodiscard]] std::uint64_t bytes_of(std::size_t slot) const;
  [[nodiscard]] std::uint32_t pid_of(std::size_t slot) const;

  int code_ = kUnknown;
  const LimitsPage* limits_ = nullptr;
  const CardLimit* limit_ = nullptr;
  std::size_t card_ = 0;
  UsageFile usage_;
};

}  // namespace tangram::shim::nvml
