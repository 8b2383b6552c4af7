#pragma once

#include "model/grant.hpp"

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace tangram::model {

// ---- Signatures of grants. Keys and algorithms are not known here.

/// Signs a text. @returns base64; "" = grants are not signed
using Signer = std::function<std::string(std::string_view text)>;

/// encode(), signed.
[[nodiscard]] std::string encode_signed(Grant grant, const Signer& signer);

/// The two parts of a signed grant's text.
struct SignedText {
  std::string text;            ///< what the signature covers: the grant's without its last member
  std::string_view signature;  ///< base64, not looked at; into the caller's text
};
/// @returns nothing unless the text ends as encode() writes it, with "sig" as its last member
[[nodiscard]] std::optional<SignedText> split_signature(std::string_view text);

/// Instead of a key's id.
inline constexpr std::string_view kUnsigned = "unsigned";
inline constexpr std::string_view kUnknownKey = "unknown";
/// Is it a key's id?
[[nodiscard]] constexpr bool is_known_key(std::string_view key) {
  return !key.empty() && key != kUnsigned && key != kUnknownKey;
}

/// Whose signature a grant carries.
struct SignatureVerdict {
  std::string key;      ///< the key's id; kUnsigned; kUnknownKey: no known key made it
  std::string problem;  ///< why the grant does not count: "is not signed, …"; empty = it does
};
/// Judges a grant's whole text. Called from many threads.
using SignatureCheck = std::function<SignatureVerdict(std::string_view text)>;

// ---- The grant on a pod.

/// What a pod's own record is worth.
struct GrantReading {
  std::optional<Grant> grant;  ///< issued to this very pod for this node; nothing if not
  std::string problem;  ///< why not, after "the annotation …": "was issued to another pod, …"
  std::string key;      ///< as in SignatureVerdict; kUnknownKey if the text is no grant
};

/// Judges the text of kGrantAnnotation on a pod that is bound to the node. The extender counts
/// cards and the agent starts containers by this one rule, so that they agree.
/// @param check  see signatures_not_checked()
[[nodiscard]] GrantReading read_grant(const std::string& text, std::string_view pod_uid,
                                      std::string_view node, const SignatureCheck& check);

/// The empty check: a signature is neither required nor looked at.
[[nodiscard]] inline SignatureCheck signatures_not_checked() { return {}; }

}  // namespace tangram::model
