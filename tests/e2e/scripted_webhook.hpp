#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace tangram::e2e {

/// How an admission webhook fails, or answers what it should not.
enum class Failure : std::uint8_t {
  kReset,   ///< accepts connections and resets them
  kNoTls,   ///< answers the handshake in plain text
  kSlow,    ///< never answers
  kStalls,  ///< stops in the middle of its answer
  k400,
  k403,
  k413,
  k429,
  k500,
  k503,
  kEmpty,            ///< 200 without a body
  kGarbage,          ///< 200 with a body that is no JSON
  kNoResponse,       ///< an AdmissionReview without a response
  kOtherUid,         ///< allows another review
  kHuge,             ///< 64 MiB that are no JSON
  kPatchesNonsense,  ///< allows, with a patch that does not apply
  kAllows,           ///< allows, unchanged
};

/// A webhook on 127.0.0.1 with the certificate of webhook_certificates(). Its destructor closes all
/// connections. Threads: one of its own; fail_by() from any.
class ScriptedWebhook {
 public:
  explicit ScriptedWebhook(Failure failure);
  ~ScriptedWebhook();
  ScriptedWebhook(const ScriptedWebhook&) = delete;
  ScriptedWebhook& operator=(const ScriptedWebhook&) = delete;

  [[nodiscard]] int port() const;
  /// For connections from now on.
  void fail_by(Failure failure);
  /// Calls since the start, answered or not; connections with kReset and kNoTls.
  [[nodiscard]] int calls() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tangram::e2e
