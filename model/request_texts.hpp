#pragma once

#include "base/result.hpp"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

/// What the parts of parse_request() hand to each other; others use that. The views are into the
/// caller's annotations.
namespace tangram::model {

/// Everything that is wrong with a pod, as one message: the mistakes joined by "; ".
class Mistakes {
 public:
  void add(std::string_view mistake) {
    ++count_;
    if (count_ > kShown) return;
    if (!message_.empty()) message_ += "; ";
    message_ += mistake;
  }
  /// True: further mistakes are counted, but their texts no longer shown.
  [[nodiscard]] bool full() const { return count_ >= kShown; }
  [[nodiscard]] bool any() const { return count_ > 0; }
  [[nodiscard]] std::string message() const {
    if (count_ <= kShown) return message_;
    return message_ + "; and " + std::to_string(count_ - kShown) + " more";
  }

 private:
  static constexpr int kShown = 20;  // a pod may have thousands of annotations
  int count_ = 0;
  std::string message_;
};

/// One annotation as written.
struct Written {
  std::string name;  ///< in full, safe to show
  std::string_view value;
};
/// Annotations by key: "gpu-fraction", without a container's name.
using WrittenByKey = std::map<std::string_view, Written>;

/// The value if it could be read; the mistake is noted otherwise.
template <class T>
std::optional<T> value_of(Result<T> read, const Written& written, Mistakes& mistakes) {
  if (read) return *std::move(read);
  mistakes.add(written.name + ": " + read.error().message);
  return std::nullopt;
}

/// The key that `key` was most likely meant to be, without a container's name; empty if none is
/// near.
[[nodiscard]] std::string_view nearest_request_key(std::string_view key);

[[nodiscard]] inline const Written* find(const WrittenByKey& texts, std::string_view key) {
  const auto found = texts.find(key);
  return found == texts.end() ? nullptr : &found->second;
}

}  // namespace tangram::model
