#pragma once

#include "base/ed25519.hpp"
#include "base/result.hpp"
#include "model/grant_reading.hpp"

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace tangram::kube {

/// The keys that sign and check grants, as files bring them: a Secret and a ConfigMap, mounted as
/// volumes, whose content Kubernetes changes under the running program. Threads: safe.
class GrantKeys {
 public:
  /// Rotation needs two. To try them all costs 0.1 ms each, for every forged grant.
  static constexpr std::size_t kMaxKnown = 8;

  struct Files {
    std::string signing = {};  ///< a private key in PEM; "" = this program signs nothing
    std::string known;  ///< public keys in PEM: a file, or a folder of files (no .hidden ones)
  };
  /// @returns kNotFound         a file cannot be read
  ///          kInvalidArgument  one holds something else, there are no known keys or too many, or
  ///                            the signing key's public half is not among them: a checker
  ///                            with the same files would refuse what it signs
  static Result<std::unique_ptr<GrantKeys>> open(Files files);
  /// For programs that start in any case: until the files can be used no key is known.
  static std::unique_ptr<GrantKeys> open_when_usable(Files files);
  /// Known keys alone, from texts that are at hand; look() has nothing to read.
  /// @param place  where the texts are, for errors
  /// @param pems   public keys in PEM, by the name that errors give them
  /// @returns kInvalidArgument  as open()
  static Result<std::unique_ptr<GrantKeys>> of(const std::string& place,
                                               const std::map<std::string, std::string>& pems);

  /// Reads the files again. What cannot be used leaves the keys as they are, and is logged once.
  /// One thread, every second or so. @returns whether other keys are known now
  bool look();

  /// @returns base64; "" without a signing key
  [[nodiscard]] std::string sign(std::string_view text) const;

  /// Whose signature is it? For a wrong one or none, `problem` is why.
  [[nodiscard]] model::SignatureVerdict check(std::string_view grant_text) const;

  struct State {
    std::string signing;             ///< its id; "" = none
    std::vector<std::string> known;  ///< ids, sorted
    bool stale = false;              ///< the files cannot be used: these are from before
  };
  [[nodiscard]] State state() const;

 private:
  struct Ring;
  using RingPtr = std::shared_ptr<const Ring>;
  GrantKeys(Files files, RingPtr ring);

  [[nodiscard]] static Result<RingPtr> read(const Files& files);
  [[nodiscard]] RingPtr ring() const;
  void remember(const RingPtr& of, std::string digest, const std::string& key) const;

  const Files files_;
  mutable std::mutex mutex_;
  // Under mutex_.
  RingPtr ring_;
  std::string problem_;  ///< why the files cannot be used; empty = they can
  /// Grants that were found right, by SHA-256 of their text: a new leader reads all of them again
  /// before it binds, and 50,000 signatures would take it 5 s.
  mutable std::map<std::string, std::string, std::less<>> right_;
};

/// For model::encode_signed().
/// @param keys  outlives what is returned; null = none, and grants are not signed
[[nodiscard]] model::Signer signer(const GrantKeys* keys);

/// For model::read_grant().
/// @param keys      outlives what is returned
/// @param required  whether a grant counts only with a known key's signature; otherwise the
///                  signature is looked at for the key's name alone
[[nodiscard]] model::SignatureCheck signature_check(const GrantKeys& keys, bool required);

}  // namespace tangram::kube
