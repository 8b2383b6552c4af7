#include "model/grant_reading.hpp"

#include "base/quote.hpp"

#include <utility>

namespace tangram::model {

namespace {

constexpr std::string_view kSignatureMember = R"(,"sig":")";
constexpr std::string_view kEnd = R"("})";

SignatureVerdict unchecked(const Grant& grant) {
  return {.key = std::string(grant.signature.empty() ? kUnsigned : kUnknownKey), .problem = {}};
}

std::string mismatch(const Grant& grant, std::string_view pod_uid, std::string_view node) {
  if (grant.pod_uid != pod_uid) {
    return "was issued to another pod, of UID " + quote(grant.pod_uid);
  }
  if (grant.node != node) return "was issued for another node, " + quote(grant.node);
  return "";
}

}  // namespace

std::string encode_signed(Grant grant, const Signer& signer) {
  grant.signature.clear();
  std::string text = encode(grant);
  grant.signature = signer ? signer(text) : "";
  return grant.signature.empty() ? text : encode(grant);
}

std::optional<SignedText> split_signature(std::string_view text) {
  // The last member: so the text before it is byte for byte what was signed, whatever else a newer
  // program may have put there. Inside a JSON string its quotes would be escaped.
  const std::size_t at = text.rfind(kSignatureMember);
  if (at == std::string_view::npos || !text.ends_with(kEnd)) return std::nullopt;
  const std::size_t begin = at + kSignatureMember.size();
  if (begin + kEnd.size() > text.size()) return std::nullopt;
  return SignedText{.text = std::string(text.substr(0, at)) + "}",
                    .signature = text.substr(begin, text.size() - kEnd.size() - begin)};
}

GrantReading read_grant(const std::string& text, std::string_view pod_uid, std::string_view node,
                        const SignatureCheck& check) {
  auto grant = decode_grant(text);
  if (!grant) {
    return {.grant = {},
            .problem = "is not valid: " + grant.error().message,
            .key = std::string(kUnknownKey)};
  }
  SignatureVerdict verdict = check ? check(text) : unchecked(*grant);
  GrantReading reading{
      .grant = {}, .problem = mismatch(*grant, pod_uid, node), .key = std::move(verdict.key)};
  if (reading.problem.empty()) reading.problem = std::move(verdict.problem);
  if (reading.problem.empty()) reading.grant = std::move(*grant);
  return reading;
}

}  // namespace tangram::model
