#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

namespace tangram::e2e {

/// Clients that mean ill, against one server on loopback that speaks TLS: bounded in number, in
/// rate and in bytes, and end with this object. They come from 127.0.0.2, an address that nobody
/// else in these tests has.
///
/// | who | does |
/// |---|---|
/// | silent | connects and says nothing; some after a handshake |
/// | slow | sends a byte of a handshake, or of a header, each second |
/// | garbled | bytes that are no TLS, records that are none, plain HTTP |
/// | oversized | announces, and sends, more than the server takes |
/// | pipelining | many requests at once, and rubbish after them |
/// | lazy | requests the largest page and does not read it |
///
/// Threads: its own, one.
class Attack {
 public:
  explicit Attack(std::uint16_t port);
  ~Attack();
  Attack(const Attack&) = delete;
  Attack& operator=(const Attack&) = delete;

  /// Connections begun since the start.
  [[nodiscard]] int begun() const;
  /// Processor time that the attackers themselves have taken: on a small machine it is missing to
  /// those whom they attack, which it would not be from machines of their own.
  [[nodiscard]] double cpu_seconds() const;

  /// More than the server serves at one time.
  static constexpr int kClients = 1'500;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tangram::e2e
