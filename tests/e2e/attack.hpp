#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

namespace tangram::e2e {

/// Hostile clients of one TLS server on loopback, limited in number, rate and bytes. The destructor
/// ends them. They connect from kAddress, which no other client in these tests uses.
///
/// | client | behaviour |
/// |---|---|
/// | silent | connects and sends nothing; some clients after a handshake |
/// | slow | sends a byte of a handshake, or of a header, each second |
/// | garbled | non-TLS bytes, malformed records, plain HTTP |
/// | oversized | announces and sends more than the server accepts |
/// | pipelining | sends many requests at once, then invalid bytes |
/// | lazy | requests the largest response and does not read it |
///
/// Threads: its own, one.
class Attack {
 public:
  explicit Attack(std::uint16_t port);
  ~Attack();
  Attack(const Attack&) = delete;
  Attack& operator=(const Attack&) = delete;

  /// Connections opened since the start.
  [[nodiscard]] int begun() const;
  /// CPU time of the attackers. On a small machine, the server lacks this time.
  [[nodiscard]] double cpu_seconds() const;

  static constexpr const char* kAddress = "127.0.0.2";
  /// More than the server serves at the same time.
  static constexpr int kClients = 1'500;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tangram::e2e
