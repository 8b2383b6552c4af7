#pragma once

#include "base/clock.hpp"
#include "base/result.hpp"
#include "http/tls/openssl.hpp"

#include <string>
#include <utility>
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

struct Identity {
  http::tls::KeyPtr key;
  http::tls::CertificatePtr certificate;
};

/// A certificate authority that is made on the spot: EC P-256 keys, SHA-256. For a trial and for
/// tests; in production use the organisation's own issuer.
class Authority {
 public:
  /// @returns kUnavailable if OpenSSL cannot, for want of memory or randomness
  static Result<Authority> create(const std::string& name, Validity validity);

  [[nodiscard]] const CertificateAndKey& own() const { return own_; }

  enum class Use { kServer, kClient };
  struct Order {
    std::string name;                     ///< the common name
    std::vector<std::string> hosts = {};  ///< DNS names and IP addresses of a server
    Use use = Use::kServer;
    Validity validity;
  };
  /// @returns kInvalidArgument for a host that is neither a DNS name nor an IP address
  [[nodiscard]] Result<CertificateAndKey> issue(const Order& order) const;

 private:
  Authority(Identity identity, CertificateAndKey own)
      : identity_(std::move(identity)), own_(std::move(own)) {}

  Identity identity_;
  CertificateAndKey own_;
};

}  // namespace tangram::extender
