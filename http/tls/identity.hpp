#pragma once

#include "base/clock.hpp"
#include "base/result.hpp"
#include "http/tls/server_context.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

namespace tangram::http::tls {

/// Paths of PEM files.
struct ServerFiles {
  std::string certificate;
  std::string key;
  std::string client_ca;  ///< "" = no client certificate is requested
};

/// From when on the log says that a certificate is about to expire: time for people to act, and
/// less than issuers leave when they renew by themselves.
inline constexpr std::chrono::hours kExpiresSoon{7 * 24};

/// How often the files are looked at. Kubelet brings a changed Secret after a minute or so,
/// so this adds little, and three small files every few seconds are no load.
inline constexpr std::chrono::seconds kLookInterval{5};

/// The certificates of a TLS server, kept up to date with files that others replace while it runs.
///
/// The files are read by path and compared by content, so a Secret's volume, whose folder changes
/// behind a symbolic link, works as well as files written in place. What cannot be used, a
/// certificate that arrived before its key for instance, leaves the former one in force and is
/// logged once. Open connections go on with what they began with.
/// Threads: safe.
class Identity {
 public:
  /// @param name  of the listener, for messages
  /// @param clock  outlives it
  /// @returns kNotFound if a file cannot be read, kInvalidArgument if it cannot be used
  static Result<std::shared_ptr<Identity>> load(std::string name, ServerFiles files,
                                                const Clock& clock);

  /// Increases with each change of the client authorities: verified clients are checked again.
  using Trust = std::uint64_t;
  [[nodiscard]] Trust trust() const { return trust_; }

  /// For one new connection. Looks at the files if the last look is kLookInterval old.
  [[nodiscard]] std::shared_ptr<boost::asio::ssl::context> context();

  struct Health {
    WallTime expires;            ///< of the certificate in force
    std::uint64_t reloads = 0;   ///< changes that are in force
    std::uint64_t failures = 0;  ///< changes that could not be used
  };
  /// Looks at the files as context() does.
  [[nodiscard]] Health health();

 private:
  Identity(std::string name, ServerFiles files, const Clock& clock);

  // With the mutex held.
  void look();
  void reload(const Result<ServerTexts>& texts, std::string digest);
  void put_in_force(ServerContext fresh, std::string digest);
  void log_expiry();

  const std::string name_;
  const ServerFiles files_;
  const Clock& clock_;

  std::mutex mutex_;
  ServerContext current_;
  std::string in_force_;  ///< digest of the texts of current_
  std::string refused_;   ///< of those that could not be used when they were last looked at
  std::atomic<Trust> trust_ = 0;
  bool logged_soon_ = false;     ///< that current_ expires soon,
  bool logged_expired_ = false;  ///< and that it has
  TimePoint looked_;
  std::uint64_t reloads_ = 0;
  std::uint64_t failures_ = 0;
};

}  // namespace tangram::http::tls
