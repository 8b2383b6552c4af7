#pragma once

#include <map>
#include <string>

namespace tangram::e2e {

struct Amount {
  long mib = 0;
  long milli = 0;
  friend bool operator==(const Amount&, const Amount&) = default;
};

/// What a container should get on one card.
struct Due {
  Amount share;  ///< what scheduling counts
  Amount limit;  ///< what the container may use
  friend bool operator==(const Due&, const Due&) = default;
};
[[nodiscard]] std::string to_string(const Due& due);

/// The request of one container, read from its pod's annotations. The checkers implement the rules
/// of docs/annotations.md themselves, as far as the tests' pods use them.
class RequestedShares {
 public:
  /// @param annotations  of the pod, without the prefix tangram.dev/
  RequestedShares(const std::map<std::string, std::string>& annotations, std::string container);

  [[nodiscard]] std::size_t cards() const;
  [[nodiscard]] bool whole_cards() const;
  [[nodiscard]] Due on(long card_mib) const;
  [[nodiscard]] bool takes_model(const std::string& model) const;
  [[nodiscard]] bool takes_card(const std::string& uuid) const;
  /// "" = not requested
  [[nodiscard]] std::string isolation() const;

 private:
  [[nodiscard]] bool has(const std::string& share) const;
  [[nodiscard]] std::string get(const std::string& share, const std::string& otherwise) const;
  [[nodiscard]] Amount share_of(long card_mib) const;
  [[nodiscard]] bool globs_take(const std::string& annotation, const std::string& text) const;

  const std::map<std::string, std::string>& annotations_;
  std::string suffix_;  ///< of its own annotations; "" if those of the whole pod apply
};

/// Whether any container of the pod requests GPUs.
[[nodiscard]] bool asks_for_gpu(const std::map<std::string, std::string>& annotations);

}  // namespace tangram::e2e
