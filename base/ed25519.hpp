#pragma once

#include "base/result.hpp"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

/// Ed25519 signatures (RFC 8032), by OpenSSL. Keys are values that share what they hold; they never
/// change, so every thread may use them.
namespace tangram {

struct Ed25519Handle;  ///< OpenSSL's key

/// What checks signatures. Nothing secret.
class VerifyingKey {
 public:
  /// Reads every public key (SubjectPublicKeyInfo) of a PEM text.
  /// @returns kInvalidArgument if there is none, one of another kind, or a private key
  static Result<std::vector<VerifyingKey>> from_pem(const std::string& text);

  /// @param signature  64 bytes; anything else is wrong
  [[nodiscard]] bool verifies(std::string_view text, std::string_view signature) const;
  [[nodiscard]] std::string to_pem() const;
  /// Eight hexadecimal digits, which identify the key to people: the first of
  /// `openssl pkey -pubin -in FILE -outform DER | sha256sum`.
  [[nodiscard]] const std::string& id() const { return id_; }

  friend bool operator==(const VerifyingKey& a, const VerifyingKey& b) { return a.der_ == b.der_; }

 private:
  friend class SigningKey;
  explicit VerifyingKey(std::shared_ptr<const Ed25519Handle> key);

  std::shared_ptr<const Ed25519Handle> key_;
  std::string der_;
  std::string id_;
};

/// What makes signatures: a secret, which no message here ever holds.
class SigningKey {
 public:
  /// From the system's random source.
  static SigningKey generate();
  /// Reads a PKCS#8 private key that no password protects.
  /// @returns kInvalidArgument if it is something else; the message holds nothing of it
  static Result<SigningKey> from_pem(const std::string& text);

  /// 64 bytes, the same for the same text.
  [[nodiscard]] std::string sign(std::string_view text) const;
  [[nodiscard]] VerifyingKey verifying_key() const;
  [[nodiscard]] std::string to_pem() const;

 private:
  explicit SigningKey(std::shared_ptr<const Ed25519Handle> key) : key_(std::move(key)) {}

  std::shared_ptr<const Ed25519Handle> key_;
};

}  // namespace tangram
