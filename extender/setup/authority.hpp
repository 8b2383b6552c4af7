#pragma once

#include "base/clock.hpp"
#include "base/result.hpp"

#include <memory>
#include <string>
#include <vector>

namespace tangram::extender {

/// PEM.
struct CertificateAndKey {
  std::string certificate;
  std::string key;  ///< secret, not encrypted
};

/// The first second in which a certificate counts, and the last.
struct Validity {
  WallTime from;
  WallTime to;
};

/// A certificate authority that is made on the spot: EC P-256 keys, SHA-256. For a trial and for
/// tests; in production certificates come from whoever issues them there.
class Authority {
 public:
  /// @returns kUnavailable if OpenSSL cannot, for want of memory or randomness
  static Result<Authority> create(const std::string& name, Validity validity);
  Authority(Authority&&) noexcept;
  Authority& operator=(Authority&&) noexcept;
  ~Authority();

  [[nodiscard]] const CertificateAndKey& own() const;

  enum class Use { kServer, kClient };
  struct Order {
    std::string name;                     ///< the common name: who it is
    std::vector<std::string> hosts = {};  ///< DNS names and IP addresses of a server
    Use use = Use::kServer;
    Validity validity;
  };
  /// @returns kInvalidArgument for a host that is neither a DNS name nor an IP address
  [[nodiscard]] Result<CertificateAndKey> issue(const Order& order) const;

 private:
  struct Impl;
  explicit Authority(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace tangram::extender
