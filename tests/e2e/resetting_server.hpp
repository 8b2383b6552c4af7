#pragma once

#include <cstdint>
#include <memory>

namespace tangram::e2e {

/// A server on loopback that does as little as any can: it accepts each connection and resets it.
/// What clients still cost beside it is their own, and the kernel's.
/// Threads: its own, one.
class ResettingServer {
 public:
  ResettingServer();
  ~ResettingServer();
  ResettingServer(const ResettingServer&) = delete;
  ResettingServer& operator=(const ResettingServer&) = delete;

  [[nodiscard]] std::uint16_t port() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tangram::e2e
