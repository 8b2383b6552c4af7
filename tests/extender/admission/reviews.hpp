#pragma once

#include "extender/admission/settings.hpp"
#include "extender/admission/validate.hpp"

#include <string>
#include <string_view>
#include <vector>

/// What the API server sends to a webhook and receives, for tests. Pods are written in YAML.
namespace tangram::testing {

/// "metadata: ..." to JSON. @throws std::runtime_error if it is no YAML
[[nodiscard]] std::string json_of(const std::string& yaml);

/// The settings that are shipped, with every policy and nothing translated.
[[nodiscard]] extender::AdmissionSettings shipped_settings();

struct Asking {
  std::string operation = "CREATE";
  std::string resource = "pods";
  std::string subresource = {};
  std::string user = "jane";
  std::string ns = "ml";
  std::string name = "train-0";
  std::string object = "null";      ///< JSON
  std::string old_object = "null";  ///< JSON
};
[[nodiscard]] std::string review_text(const Asking& asking);

/// The API server's side of one answer.
struct Verdict {
  std::string uid;
  bool allowed = false;
  std::string message;
  std::string reason;
  int code = 0;
  int retry_after_seconds = 0;
  std::string patch;  ///< decoded
  std::vector<std::string> warnings;
};
/// @throws std::runtime_error if it is no response to an AdmissionReview
[[nodiscard]] Verdict verdict_in(const std::string& response);

/// The two webhooks, each with a whole review in and out.
class Webhook {
 public:
  explicit Webhook(extender::AdmissionSettings settings = shipped_settings())
      : settings_(std::move(settings)) {}

  [[nodiscard]] Verdict mutate(const Asking& asking) const;
  [[nodiscard]] Verdict require_memory_limits(const Asking& asking,
                                              model::MemoryLimits least) const;
  [[nodiscard]] Verdict validate(const Asking& asking, const extender::Checks& checks = {}) const;

  /// The pod, JSON, as mutate leaves it.
  [[nodiscard]] std::string mutated(const std::string& pod) const;
  /// What is said about a new pod, which mutate has seen before; "" = it is allowed.
  [[nodiscard]] std::string refusal(const std::string& pod,
                                    const extender::Checks& checks = {}) const;

 private:
  extender::AdmissionSettings settings_;
};

/// The text at "spec.containers.0.name" of a JSON text; numbers and objects as JSON. "" = nothing.
/// In names that have dots or slashes, write ":" and "|" for them.
[[nodiscard]] std::string at(const std::string& json, const std::string& path);

}  // namespace tangram::testing
