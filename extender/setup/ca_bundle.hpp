#pragma once

#include "base/result.hpp"

#include <string>
#include <vector>

namespace tangram::extender {

/// The certificates of authorities that a verifier trusts: one text of PEM, each certificate once,
/// in the order in which they were added.
class CaBundle {
 public:
  CaBundle() = default;
  /// @param pem  any number of certificates; text between them is left out
  /// @returns kInvalidArgument if a certificate cannot be read
  static Result<CaBundle> parse(const std::string& pem);

  void add(const CaBundle& other);
  /// Those that signed the first certificate of `pem`; none if there is no certificate.
  [[nodiscard]] CaBundle issuers_of(const std::string& pem) const;
  /// Those of this bundle that are in `other` too.
  [[nodiscard]] CaBundle common_with(const CaBundle& other) const;
  [[nodiscard]] bool contains(const CaBundle& other) const;
  [[nodiscard]] bool empty() const { return certificates_.empty(); }
  [[nodiscard]] std::string pem() const;

  friend bool operator==(const CaBundle&, const CaBundle&) = default;

 private:
  [[nodiscard]] bool has(const std::string& certificate) const;

  std::vector<std::string> certificates_;  ///< PEM as OpenSSL writes it, so equal ones are equal
};

}  // namespace tangram::extender
